import Foundation
import SignalboxCore
import SignalboxHTTP
import SignalboxJSON
import SignalboxSimulators
import Testing

/// The simulator of Huawei Push Kit, as libcurl sees it.
@Suite struct HMSSimulatorTests {
    typealias Rig = SimulatorTests.Rig

    func post(
        _ rig: Rig, _ path: String, _ body: String, token: String? = nil
    ) async throws -> (status: UInt32, json: JSONValue) {
        var call = RESTCall(
            method: "POST", url: rig.simulators.hms.origin + path,
            headers: token.map { [Attribute("authorization", "Bearer \($0)")] } ?? [],
            body: Array(body.utf8))
        call.caFile = rig.simulators.files.ca
        let answer = try await rig.client.patient(call)
        return (answer.status, (try? JSONValue.parse(answer.body)) ?? .null)
    }

    func grant(
        _ rig: Rig, id: String = "100000001", secret: String = "sim-hms-secret",
        type: String = "client_credentials"
    ) async throws -> (status: UInt32, json: JSONValue) {
        try await post(
            rig, "/oauth2/v3/token", "grant_type=\(type)&client_id=\(id)&client_secret=\(secret)")
    }

    @Test func `the token endpoint knows its client`() async throws {
        let rig = try await Rig()
        let good = try await grant(rig)
        #expect(good.status == 200 && good.json["expires_in"]?.integer == 3600)
        for bad in [
            try await grant(rig, id: "1"), try await grant(rig, secret: "x"),
            try await grant(rig, type: "password"),
        ] {
            #expect(bad.status == 400 && bad.json["error"]?.integer == 1101)
        }
        try await rig.simulators.hms.take(
            .fail(tokens: ["/oauth2/v3/token"], status: 503, reason: "busy", times: 1))
        #expect(try await grant(rig).status == 503)
        await rig.end()
    }

    @Test func `a token expires, and another one is unknown`() async throws {
        let rig = try await Rig()
        let token = try #require(try await grant(rig).json["access_token"]?.string)
        let message = #"{"message":{"token":["t"],"data":"x"}}"#
        for path in ["/v1/100000001", "/v2/200000002"] {
            let sent = try await post(rig, "\(path)/messages:send", message, token: token)
            #expect(sent.status == 200 && sent.json["code"]?.string == "80000000")
            #expect(sent.json["requestId"]?.string?.hasPrefix("sim-") == true)
        }
        let path = "/v1/100000001/messages:send"
        let unknown = try await post(rig, path, message, token: "x")
        #expect(unknown.status == 401 && unknown.json["code"]?.string == "80200001")
        try await rig.simulators.hms.take(.expireCredentials)
        let expired = try await post(rig, path, message, token: token)
        #expect(expired.json["code"]?.string == "80200003")
        #expect(try await post(rig, "/v1/7/messages:send", message, token: token).status == 404)
        await rig.end()
    }

    static let shown = #""notification":{"title":"T","body":"B"}"#

    @Test(arguments: [
        (#"{"message":{"token":["t"],"data":"x"},"validate_only":true}"#, "80000000"),
        (
            #"{"message":{"token":["t"],\#(shown),"android":{"notification":{"click_action":{"type":3}}}}}"#,
            "80000000"
        ),
        (#"{"message":{"token":["t"],\#(shown)}}"#, "80100003"),
        (
            #"{"message":{"token":["t"],\#(shown),"android":{"notification":{"tag":"a"}}}}"#,
            "80100003"
        ),
        (
            #"{"message":{"token":["t"],\#(shown),"android":{"notification":{"click_action":{"type":2,"url":"http://a"}}}}}"#,
            "80100003"
        ),
        (
            #"{"message":{"token":["t"],\#(shown),"android":{"notification":{"click_action":{"type":3},"badge":{"set_num":1}}}}}"#,
            "80100003"
        ),
        (#"{"message":{"token":["t"],"data":{"a":"b"}}}"#, "80100003"),
        (#"{"message":{"token":["t"]}}"#, "80100003"), (#"{"message":{"data":"x"}}"#, "80100003"),
        (#"{"message":{"token":[],"data":"x"}}"#, "80300010"),
        (#"{"message":{"token":[""],"data":"x"}}"#, "80300007"),
        (#"{"message":{"token":["t"],"data":"x","android":{"ttl":"5"}}}"#, "80100004"),
        (#"{"message":{"token":["t"],"data":"x","android":{"collapse_key":101}}}"#, "80100013"),
        (#"{"message":{"token":["t"],"data":"x","android":{"urgency":"high"}}}"#, "80100003"),
        (#"{"massage":{}}"#, "80100003"), ("[]", "80100003"),
        (
            #"{"message":{"token":["t"],"data":"\#(String(repeating: "x", count: 4_096))"}}"#,
            "80300008"
        ),
    ])
    func `messages are checked as Huawei documents it, with status 200`(
        body: String, code: String
    ) async throws {
        let rig = try await Rig()
        let token = try #require(try await grant(rig).json["access_token"]?.string)
        let answer = try await post(rig, "/v1/100000001/messages:send", body, token: token)
        #expect(answer.status == 200)
        #expect(answer.json["code"]?.string == code)
        await rig.end()
    }
}
