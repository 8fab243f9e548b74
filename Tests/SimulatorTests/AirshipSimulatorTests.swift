import Foundation
import SignalboxCore
import SignalboxCrypto
import SignalboxHTTP
import SignalboxJSON
import SignalboxSimulators
import Testing

/// The simulator of Airship, as libcurl sees it.
@Suite struct AirshipSimulatorTests {
    typealias Rig = SimulatorTests.Rig

    static let basic =
        "Basic " + Base64.encode(Array("sim-airship-app-key:sim-airship-secret".utf8))
    static let good =
        #"{"audience":{"channel":"c"},"device_types":["ios"],"notification":{"alert":"a"}}"#

    func post(
        _ rig: Rig, _ body: String, path: String = "/api/push", login: String = basic,
        headers: [(String, String)] = [("accept", "application/vnd.urbanairship+json; version=3")]
    ) async throws -> (status: UInt32, json: JSONValue) {
        var call = RESTCall(
            method: "POST", url: rig.simulators.airship.origin + path,
            headers: [Attribute("authorization", login)]
                + headers.map { Attribute($0.0, $0.1) },
            body: Array(body.utf8))
        call.caFile = rig.simulators.files.ca
        let answer = try await rig.client.patient(call)
        return (answer.status, (try? JSONValue.parse(answer.body)) ?? .null)
    }

    @Test func `a push is taken, a validation only answered`() async throws {
        let rig = try await Rig()
        let taken = try await post(rig, Self.good)
        #expect(taken.status == 202 && taken.json["ok"] == .bool(true))
        #expect(taken.json["push_ids"]?[0]?.string == "push-1")
        let checked = try await post(rig, Self.good, path: "/api/push/validate")
        #expect(checked.status == 200 && checked.json["push_ids"] == nil)
        #expect(rig.simulators.airship.received.map(\.token) == ["c", "c"])
        let accept = ("accept", "application/vnd.urbanairship+json; version=3")
        let bearer = try await post(
            rig, Self.good, login: "Bearer sim-airship-token",
            headers: [accept, ("x-ua-appkey", "sim-airship-app-key")])
        #expect(bearer.status == 202)
        let keyless = try await post(rig, Self.good, login: "Bearer sim-airship-token")
        #expect(keyless.status == 401)
        #expect(try await post(rig, Self.good, login: "Basic x").status == 401)
        #expect(try await post(rig, Self.good, headers: []).status == 406)
        #expect(try await post(rig, Self.good, path: "/api/x").status == 404)
        await rig.end()
    }

    @Test(arguments: [
        "[]", #"{"audience":{"channel":"c"},"device_types":["ios"]}"#,
        good.replacing("channel", with: "chanel"), good.replacing(#""c""#, with: #""""#),
        good.replacing(#"["ios"]"#, with: "[]"), good.replacing("ios", with: "windows"),
        good.replacing(#""alert":"a""#, with: #""alert":1"#),
        good.replacing(#""alert":"a""#, with: #""android":{"extra":{"n":1}}"#),
        good.replacing("channel", with: "device_token"), good.replacing("audience", with: "who"),
    ])
    func `pushes are checked`(body: String) async throws {
        let rig = try await Rig()
        let answer = try await post(rig, body)
        #expect(answer.status == 400 && answer.json["error_code"]?.integer == 40001)
        #expect(answer.json["ok"] == .bool(false))
        await rig.end()
    }
}
