import Foundation
import PluginRig
import SignalboxCore
import SignalboxHTTP
import SignalboxJSON
import SignalboxSimulators
import Testing

/// gorush's requests with the example's configuration, from `/api/push` to the push and to the feedback.
@Suite(.timeLimit(.minutes(5))) struct GorushFlowTests {
    static func rig(
        _ variables: [String: String] = [:], yaml: ((String) -> String)? = nil
    ) async throws -> ExampleRig {
        var all = ["FEEDBACK_SECRET": "secret-of-the-receiver"]
        all.merge(variables) { $1 }
        return try await ExampleRig("gorush", variables: all, yaml: yaml)
    }

    static func push(
        _ rig: ExampleRig, _ body: String, headers: [(String, String)] = []
    ) async throws -> (status: UInt32, json: JSONValue) {
        let (status, json, _) = try await rig.call("POST", "/api/push", body, headers: headers)
        return (status, json)
    }

    @Test func `the requests of gorush's README become its pushes`() async throws {
        let rig = try await Self.rig()
        let (status, answer) = try await Self.push(
            rig, try PluginRig.fixture("Gorush/simple.json"))
        #expect(status == 200)
        #expect(answer.text == #"{"counts":4,"logs":[],"success":"ok"}"#)
        for token in ["0a1b", "0c0d"] {
            let apple = try await rig.push(rig.simulators.apns, to: token)
            #expect(apple.body.text == #"{"aps":{"alert":{"body":"Hello World iOS!"}}}"#)
            #expect(apple.header("apns-topic") == "com.example.app")
        }
        let google = try await rig.push(rig.simulators.fcm, to: "fcm:1")
        #expect(
            google.body["message"]?["notification"]?.text
                == #"{"title":"You got message","body":"Hello World Android!"}"#)
        let huawei = try await rig.push(rig.simulators.hms, to: "hms-1")
        #expect(huawei.status == 200)
        #expect(
            huawei.body["message"]?["notification"]?["body"]?.string == "Hello World Huawei!")
        await rig.end()
    }

    @Test func `a repeat by its notif_id is one push, and development goes to the sandbox`()
        async throws
    {
        let sandbox = try await Simulators.start()
        let rig = try await Self.rig(yaml: { Self.withSandbox(sandbox, $0) })
        let body =
            #"""
            {"notifications":[
            {"notif_id":"n-1","platform":1,"tokens":["0a1b"],"message":"live"},
            {"notif_id":"n-2","platform":1,"tokens":["0c0d"],"message":"trial","development":true}]}
            """#
        for _ in 0..<2 {
            let (status, answer) = try await Self.push(rig, body)
            #expect(status == 200 && answer["counts"]?.integer == 2)
        }
        _ = try await rig.push(rig.simulators.apns, to: "0a1b")
        _ = try await rig.push(sandbox.apns, to: "0c0d")
        await rig.gateway.stop()
        #expect(rig.simulators.apns.received.map(\.token) == ["0a1b"])
        #expect(sandbox.apns.received.map(\.token) == ["0c0d"])
        await rig.end()
        await sandbox.shutdown()
    }

    /// The example with other simulators as the sandbox, which have a key of their own.
    private static func withSandbox(_ sandbox: Simulators, _ yaml: String) -> String {
        guard let own = yaml.range(of: "  apns-sandbox:"), let next = yaml.range(of: "  fcm:")
        else { return yaml }
        let block = yaml[own.lowerBound..<next.lowerBound]
            .replacing("${env:APNS_SANDBOX_ENDPOINT:-}", with: sandbox.apns.origin)
            .replacing("${env:SIGNALBOX_CA_FILE:-}", with: sandbox.files.ca)
            .replacing("secrets/apns.p8", with: sandbox.files.apnsKey)
        return yaml.replacingCharacters(in: own.lowerBound..<next.lowerBound, with: block)
    }

    @Test func `a failed push is told to the feedback hook by its notif_id`() async throws {
        let hook = try await OutcomeTests.Receiver.start()
        let rig = try await Self.rig(["FEEDBACK_URL": "\(hook.origin)/hook"])
        try await rig.simulators.apns.take(
            .fail(tokens: ["dead"], status: 410, reason: "Unregistered", times: nil))
        let (status, _) = try await Self.push(
            rig,
            #"""
            {"notifications":[{"notif_id":"n-7","platform":1,"tokens":["dead","0a1b"],"message":"m"}]}
            """#)
        #expect(status == 200)
        let outcome = try #require(try await hook.wait(for: 1).first)
        #expect(outcome["result"]?.string == "dead" && outcome["subject"]?.string == "n-7")
        #expect(outcome["reason"]?.string == "Unregistered" && outcome["platform"]?.string == "ios")
        _ = try await rig.push(rig.simulators.apns, to: "0a1b")
        await rig.end()
        #expect(hook.taken.count == 1)
        await hook.end()
    }
}
