import Foundation
import PluginRig
import SignalboxCore
import SignalboxCrypto
import SignalboxHTTP
import SignalboxJSON
import SignalboxSimulators
import Testing

/// What an operator sees of one gateway, and of several.
@Suite struct FleetViewTests {
    private static func lane(_ fleet: JSONValue, _ sender: String) throws -> JSONValue {
        try #require(fleet["lanes"]?.items?.first { $0["sender"]?.string == sender })
    }

    private static func names(_ fleet: JSONValue) -> [String] {
        (fleet["gateways"]?.items ?? []).compactMap { $0["name"]?.string }
    }

    @Test func `a gateway on SQLite shows itself and what it has leased`() async throws {
        let rig = try await GatewayRig(
            timeoutMs: 60_000,
            config: {
                (GatewayRig.plugins($0, timeoutMs: 60_000) + "\n" + GatewayRig.routes)
                    .replacing("drain: 5s", with: "drain: 0s, name: solo")
            })
        try await rig.simulators.apns.take(.stall(count: 100))
        try await rig.post(GatewayRig.webhook([("ios", "a")]))
        _ = await rig.simulators.apns.wait(for: 1)
        let answer = try await rig.admin("/fleet")
        #expect(answer.status == 200)
        let fleet = try JSONValue.parse(answer.body)
        #expect(Self.names(fleet) == ["solo"])
        #expect(fleet["gateways"]?[0]?["state"]?.string == "live")
        #expect(fleet["gateways"]?[0]?["leased"]?.integer == 1)
        #expect(fleet["gateways"]?[0]?["version"]?.string?.isEmpty == false)
        let lane = try Self.lane(fleet, "apns")
        #expect(lane["leased"]?.integer == 1 && lane["waiting"]?.integer == 0)
        let metrics = rig.metrics
        #expect(metrics.contains(#"signalbox_build_info{gateway="solo",version="#))
        #expect(metrics.contains("signalbox_fleet_configurations 1"))
        #expect(fleet["gateways"]?[0]?["configuration"]?.string?.count == 8)
        #expect(metrics.contains(#"signalbox_fleet_gateways{state="live"} 1"#))
        #expect(metrics.contains(#"signalbox_fleet_leased{sender="apns",app=""} 1"#))
        await rig.end()
    }

    @Test func `each gateway shows all of them, and the store does when none runs`() async throws {
        let database = try await PostgresServer.shared().database()
        let simulators = try await Simulators.start(SimulatorsOptions())
        try await simulators.apns.take(
            .fail(tokens: ["bad"], status: 400, reason: "BadPriority", times: nil))
        let client = try RESTClient()
        var files: [String] = []
        var running: [(process: Program, pipe: Pipe)] = []
        var logs: [String] = []
        for name in ["one", "two"] {
            let file = try GatewayRig.file(name, on: database, GatewayRig.yaml(simulators))
            let (process, pipe, log) = try await ProgramTests.serve(file)
            files.append(file)
            running.append((process, pipe))
            logs.append(log)
        }
        let port = try #require(logs[0].firstMatch(of: #/listen\.port=(\d+)/#)?.output.1)
        let answer = try await client.post([("ios", "good"), ("ios", "bad")], to: port)
        #expect(answer.status == 200)
        logs[0] += try await Tool.read(running[0].pipe, until: "BadPriority")
        for line in logs[0].split(separator: "\n") {
            #expect(line.contains("gateway.name=one"), "\(line)")
        }
        for log in logs {
            let admin = try #require(log.firstMatch(of: #/admin\.port=(\d+)/#)?.output.1)
            let shown = try await ProgramTests.run([
                "fleet", "--json", "--config", files[0], "--admin", "127.0.0.1:\(admin)",
            ])
            #expect(shown.status == 0, "\(shown.text)")
            let fleet = try JSONValue.parse(Array(shown.output.utf8))
            #expect(Self.names(fleet) == ["one", "two"])
            // As `sha256sum` prints it: their names are in their files.
            for (index, file) in files.enumerated() {
                let text = try Data(contentsOf: URL(filePath: file))
                let digest = Hex.encode(Digest.sha256(Array(text)))
                #expect(
                    fleet["gateways"]?[index]?["configuration"]?.string == String(digest.prefix(8)))
            }
            // The dead letter, read through either gateway, says which one made the attempt.
            // The log is a moment ahead of the store.
            var attempts: JSONValue?
            for _ in 0..<3_000 where attempts == nil {
                let list = try await client.patient(
                    RESTCall(method: "GET", url: "http://127.0.0.1:\(admin)/dead"))
                attempts = try JSONValue.parse(list.body)["dead"]?[0]?["attempts"]
                if attempts == nil { try await Task.sleep(for: .milliseconds(20)) }
            }
            #expect(attempts?[0]?["gateway"]?.string == "one")
        }
        for (process, pipe) in running {
            process.terminate()
            _ = try await Tool.rest(pipe)
            #expect(try await Tool.end(process) == 0)
        }
        let text = try await ProgramTests.run(["fleet", "--config", files[1]])
        #expect(text.status == 0, "\(text.text)")
        let firsts = text.lines.map { $0.prefix { $0 != " " } }
        #expect(firsts == ["GATEWAY", "one", "two", "nothing"], "\(text.text)")
        #expect(text.text.split(separator: " ").count { $0 == "stopped" } == 2, "\(text.text)")
        client.shutdown()
        await simulators.shutdown()
        try await database.remove()
    }
}
