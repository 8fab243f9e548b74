import PluginRig
import SignalboxCore
import SignalboxHTTP
import SignalboxJSON
import SignalboxSimulators
import Testing

/// `signalbox send`, with a running gateway.
@Suite struct SendTests {
    private func send(_ rig: GatewayRig, _ arguments: [String]) async throws -> (Int32, String) {
        let port = try #require(rig.gateway.adminPort)
        let config = rig.folder.appending(path: "gateway.yaml").path
        let ended = try await ProgramTests.run(
            ["send", "--config", config, "--admin", "127.0.0.1:\(port)"] + arguments)
        return (ended.status, ended.text)
    }

    @Test func `one push leaves at once, and its answer is shown`() async throws {
        let rig = try await GatewayRig()
        let (status, text) = try await send(
            rig,
            [
                "--via", "apns", "--to", "aa11", "--title", "Hello", "--badge", "3", "--data",
                #"{"k":"v"}"#,
            ])
        #expect(status == 0, "\(text)")
        #expect(text.contains("ios: accepted by the provider (200) in "))
        let push = try #require(rig.simulators.apns.received.first)
        #expect(push.token == "aa11")
        #expect(push.body["aps"]?["alert"]?["title"]?.string == "Hello")
        #expect(push.body["aps"]?["badge"] == .integer(3) && push.body["k"]?.string == "v")
        #expect(rig.gateway.waitingCount == 0)
        await rig.end()
    }

    @Test func `a dead token is shown, and everything else that the provider says`() async throws {
        let rig = try await GatewayRig()
        try await rig.simulators.apns.take(
            .fail(tokens: [], status: 410, reason: "Unregistered", times: 1))
        let (dead, words) = try await send(rig, ["--via", "apns", "--to", "aa", "--body", "b"])
        #expect(dead == 1)
        #expect(words.contains("the token is dead (410) Unregistered"), "\(words)")
        try await rig.simulators.fcm.take(
            .fail(tokens: [], status: 404, reason: "UNREGISTERED", times: 1))
        let (_, json) = try await send(
            rig, ["--via", "fcm", "--to", "bb", "--body", "b", "--json"])
        let result = try JSONValue.parse(json)["results"]?[0]
        #expect(result?["outcome"]?.string == "unregistered", "\(json)")
        #expect(result?["platform"]?.string == "android")
        // Mistakes are named.
        for (arguments, words) in [
            (["--via", "apsn", "--to", "a"], "did you mean"),
            (["--via", "apns", "--user", "u-1"], "the user u-1 has no device"),
            (["--via", "z", "--to", "a"], "no sender \"z\""),
            (["--via", "apns", "--to", "a", "--data", "7"], "data must be a JSON object"),
        ] {
            let (status, text) = try await send(rig, arguments + ["--body", "b"])
            #expect(status == 1)
            #expect(text.contains(words), "\(text)")
        }
        await rig.end()
    }

    @Test func `a dry run shows the request without gateway and secrets`() async throws {
        let ended = try await ProgramTests.run([
            "send", "--config", PluginRig.root.appending(path: "gateway.yaml").path, "--via", "fcm",
            "--user", "u-1", "--title", "Hello", "--dry-run",
        ])
        #expect(ended.status == 0, "\(ended.text)")
        #expect(ended.text.contains("push by fcm to android of u-1 (invented"))
        #expect(ended.text.contains("authorization: Bearer {secret}"))
        let alone = try await ProgramTests.run([
            "send", "--config", try ProgramTests.temporary("gateway.yaml", ShopConfig.yaml),
            "--via", "apns", "--to", "aa", "--body", "b",
        ])
        #expect(alone.status == 1)
        #expect(alone.text.contains("no admin listener to ask"), "\(alone.text)")
    }
}
