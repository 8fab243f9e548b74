import Foundation
import PluginRig
import Signalbox
import SignalboxCore
import SignalboxHTTP
import SignalboxJSON
import SignalboxSimulators
import Testing

/// Which dead letters are kept, and how operators find them.
@Suite(.timeLimit(.minutes(5))) struct DeadLetterTests {
    private static func rig(_ dead: String) async throws -> GatewayRig {
        try await GatewayRig(config: {
            AdminTests.config($0, ", dead: \(dead)", "127.0.0.1:0")
        })
    }

    /// Sends pushes that APNs rejects, one after the other.
    private static func fail(_ tokens: [String], _ reason: String, _ rig: GatewayRig) async throws {
        let status = reason == "Unregistered" ? 410 : 400
        try await rig.simulators.apns.take(
            .fail(tokens: [], status: status, reason: reason, times: nil))
        for token in tokens {
            try await rig.post(GatewayRig.webhook([("ios", token)], ticket: token))
            while !rig.log.all.contains(where: { $0.contains("delivery failed") })
                || rig.gateway.waitingCount > 0
            { await Task.yield() }
        }
    }

    private static func count(_ rig: GatewayRig) async throws -> Int64? {
        try await rig.json("/dead")["count"]?.integer
    }

    @Test(arguments: [("1d", Int64(0)), ("{ unregistered: true }", 1)])
    func `a delivery whose token is dead is a letter only if that is wanted`(
        dead: String, count: Int64
    ) async throws {
        let rig = try await Self.rig(dead)
        try await Self.fail(["gone"], "Unregistered", rig)
        #expect(try await Self.count(rig) == count)
        #expect(rig.log.all.filter { $0.hasPrefix("error") } == [])
        #expect(rig.log.all.contains { $0.hasPrefix("info") && $0.contains("reason=Unregistered") })
        let words = #"result="failed",reason="Unregistered"} 1"#
        #expect(rig.gateway.metricsText.contains(words))
        await rig.end()
    }

    @Test func `dead letters that are too many or too old are removed and counted`() async throws {
        let clock = StillClock()
        let rig = try await GatewayRig(
            clock: { clock.now },
            config: { AdminTests.config($0, ", dead: { keep: 1d, letters: 3 }", "127.0.0.1:0") })
        try await Self.fail(["1", "2", "3", "4"], "BadPriority", rig)
        #expect(try await Self.count(rig) == 4)
        func next() async throws -> Gateway {
            try await rig.successor { $0.nowUnixMs = { clock.now } }
        }
        await rig.gateway.stop()
        let two = try await next()
        let name = "signalbox_dead_removed_total"
        while !two.metricsText.contains(#"\#(name){why="surplus"} 1"#) { await Task.yield() }
        #expect(two.metricsText.contains(#"\#(name){why="old"} 0"#))
        while !two.metricsText.contains("signalbox_dead_letters 3\n") { await Task.yield() }
        await two.stop()
        clock.advance(ms: 86_400_001)
        let three = try await next()
        while !three.metricsText.contains(#"\#(name){why="old"} 3"#) { await Task.yield() }
        await three.stop()
        await rig.end()
    }

    @Test func `letters of a user since a time are listed, with readable times`() async throws {
        let admin = "127.0.0.1:\(try OwnPort.take())"
        let rig = try await RegistryRig(change: { _ = $0.setAdmin(admin) })
        for (user, token) in [("ann", "aaaaaaaa1"), ("joann", "bbbbbbbb2")] {
            try await rig.register(user, token)
        }
        try await rig.rig.simulators.apns.take(
            .fail(tokens: [], status: 400, reason: "BadPriority", times: nil))
        try await rig.notify(["ann", "joann"])
        _ = try await DurabilityTests.dead(rig.rig, 2)
        let file = rig.rig.folder.appending(path: "gateway.yaml").path
        func list(_ arguments: String...) async throws -> Tool.Ended {
            try await ProgramTests.run(["dead", "list"] + arguments)
        }
        let running = ["--config", file, "--admin", admin]
        let text = try await ProgramTests.run(
            ["dead", "list", "--user", "ann", "--since", "1h"] + running)
        #expect(text.output.split(separator: "\n").count == 1, "\(text.text)")
        #expect(text.output.contains("  apns  hello  \(RegistryRig.app)  ann  BadPriority\n"))
        #expect(text.output.hasPrefix("20") && text.errors.contains("1 dead letter"))
        let none = try await ProgramTests.run(["dead", "list", "--before", "1h"] + running)
        #expect(none.output.isEmpty, "\(none.text)")
        let slip = try await ProgramTests.run(["dead", "list", "--since", "soon"] + running)
        #expect(slip.status == 64)
        await rig.rig.gateway.stop()
        let data = rig.rig.folder.appending(path: "data").path
        let json = try await list("--json", "--user", "joann", "--data", data)
        let letter = try JSONValue.parse(Array(json.output.utf8))
        #expect(letter["time"]?.string?.hasSuffix("Z") == true, "\(json.text)")
        #expect(letter["attempts"]?[0]?["time"]?.string?.hasSuffix("Z") == true)
        #expect(letter["user"]?.string == "joann")
        // The file may name other senders by now: letters of one that is gone are there all the same.
        let other = rig.rig.folder.appending(path: "other.yaml")
        let yaml = try String(contentsOf: URL(filePath: file), encoding: .utf8)
        try yaml.replacing(": apns", with: ": fcm").write(
            to: other, atomically: true, encoding: .utf8)
        let gone = try await list("--sender", "apns", "--config", other.path)
        #expect(gone.output.split(separator: "\n").count == 2, "\(gone.text)")
        let slip2 = try await list("--sender", "apnss", "--config", file)
        #expect(slip2.status == 1 && slip2.errors.contains("did you mean"), "\(slip2.text)")
        #expect(try await list("--data", data, "--admin", admin).status == 64)
        await rig.rig.end()
    }

    @Test(arguments: [["dead", "list"], ["trace", "--user", "u"], ["fleet"]])
    func `a command of an operator creates no database`(command: [String]) async throws {
        let file = try ProgramTests.temporary(
            "gateway.yaml", "version: 1\ngateway: { admin: false }\nplugins: {}\nroutes: []\n")
        let folder = URL(filePath: file).deletingLastPathComponent().path
        let before = try FileManager.default.contentsOfDirectory(atPath: folder)
        let ended = try await ProgramTests.run(command + ["--config", file])
        #expect(ended.status == 1, "\(ended.text)")
        #expect(ended.errors.contains("no store at \(folder)"), "\(ended.text)")
        #expect(try FileManager.default.contentsOfDirectory(atPath: folder) == before)
    }
}
