import Foundation
import PluginRig
import SignalboxCore
import SignalboxHTTP
import SignalboxJSON
import SignalboxSimulators
import Testing

/// A plugin that is told how deliveries end, in a whole gateway.
@Suite struct ObserveTests {
    private static let library = Task.detached {
        let folder = try Workshop.folder()
        return try await PluginRig.compile(
            file: PluginRig.root.appending(path: "Examples/templates/c/observe/plugin.c").path,
            to: folder.appending(path: "liblines.so").path)
    }

    private static func yaml(
        _ simulators: Simulators, _ library: String, file: String, more: String = ""
    ) -> String {
        GatewayRig.plugins(simulators) + "\n"
            + "  lines: { library: \(library), config: { file: \(file) }\(more) }\n"
            + "outcomes:\n"
            + "  - { name: warehouse, plugin: lines, results: [delivered, dead, retried] }\n"
            + GatewayRig.routes
    }

    private static func lines(_ file: String, _ count: Int) async throws -> [JSONValue] {
        for _ in 0..<12_000 {
            let text = (try? String(contentsOfFile: file, encoding: .utf8)) ?? ""
            if text.count(where: { $0 == "\n" }) >= count {
                return try text.split(separator: "\n").map { try JSONValue.parse(String($0)) }
            }
            try await Task.sleep(for: .milliseconds(10))
        }
        Issue.record("there are never \(count) lines")
        return []
    }

    @Test func `each outcome arrives in order, retries too, and nothing is lost while it fails`()
        async throws
    {
        let isolation = ", isolation: process"
        let library = try await Self.library.value
        let file = try Workshop.folder().appending(path: "lines").path
        // A disk that is always full.
        let rig = try await GatewayRig(config: {
            Self.yaml($0, library, file: "/dev/full", more: isolation)
        })
        try await rig.simulators.apns.take(
            .fail(tokens: ["one"], status: 500, reason: "InternalServerError", times: 1))
        #expect(try await rig.post(GatewayRig.webhook([("ios", "one")], ticket: "1")).status == 200)
        #expect(await rig.delivered(rig.simulators.apns, 1) == ["one"])
        #expect(try await rig.post(GatewayRig.webhook([("ios", "two")], ticket: "2")).status == 200)
        var state = ""
        while state != "failing" {
            let ready = try await rig.json("/readyz")
            guard case .array(let receivers) = ready["outcomes"] else { continue }
            state = receivers.first?["state"]?.string ?? ""
            try await Task.sleep(for: .milliseconds(10))
        }
        try rig.write(Self.yaml(rig.simulators, library, file: file, more: isolation))
        _ = try await rig.gateway.reload()
        let outcomes = try await Self.lines(file, 3)
        #expect(outcomes.map { $0["result"]?.string } == ["retried", "delivered", "delivered"])
        #expect(outcomes.map { $0["subject"]?.string } == ["ticket/1", "ticket/1", "ticket/2"])
        let sequences = outcomes.compactMap { $0["sequence"]?.integer }
        #expect(sequences == sequences.sorted() && Set(sequences).count == 3)
        let metrics = rig.metrics
        #expect(metrics.contains(#"signalbox_outcomes_sent_total{receiver="warehouse"} 3"#))
        await rig.end()
    }

    @Test func `an outcome says which texts were shortened, for each delivery of the content`()
        async throws
    {
        let library = try await Self.library.value
        let file = try Workshop.folder().appending(path: "lines").path
        let rig = try await GatewayRig(config: {
            Self.yaml($0, library, file: file).replacing(
                "    library: APNs\n", with: "    library: APNs\n    isolation: process\n")
        })
        let text = String(repeating: "long ", count: 2_000)
        let long = GatewayRig.webhook([("ios", "one"), ("ios", "two")], ticket: "1")
            .replacing("secret-body", with: text)
        #expect(try await rig.post(long).status == 200)
        #expect(await rig.delivered(rig.simulators.apns, 2).count == 2)
        #expect(
            try await rig.post(GatewayRig.webhook([("ios", "three")], ticket: "2")).status == 200)
        let all = try await Self.lines(file, 3)
        for line in all {
            let isLong = line["subject"]?.string == "ticket/1"
            #expect(line["shortened"]?.text == (isLong ? #"["body"]"# : nil), "\(line.text)")
        }
        await rig.end()
    }

    @Test func `devices that come, go and die are told to those who ask, without their tokens`()
        async throws
    {
        let library = try await Self.library.value
        let file = try Workshop.folder().appending(path: "lines").path
        let rig = try await GatewayRig(config: {
            Self.yaml($0, library, file: file).replacing(
                "results: [delivered, dead, retried]",
                with: "results: [device_registered, device_unregistered, device_dead]")
                    + """

                    devices:
                      clients:
                        - { name: backend, token: token-of-backend-1, app: com.example.app, scopes: [read, write] }
                    """
        })
        _ = try await DeviceTests.register(rig, "anna", "token-one", platform: "ios")
        _ = try await DeviceTests.register(rig, "anna", "token-two", platform: "ios")
        _ = try await DeviceTests.call(
            rig, "DELETE", "/v1/devices?token=token-one")
        try await rig.simulators.apns.take(
            .fail(tokens: ["token-two"], status: 410, reason: "Unregistered", times: 1))
        try await rig.post(GatewayRig.webhook([("ios", "token-two")]))
        let all = try await Self.lines(file, 4)
        #expect(
            all.map { $0["result"]?.string } == [
                "device_registered", "device_registered", "device_unregistered", "device_dead",
            ])
        #expect(all.allSatisfy { $0["user"]?.string == "anna" })
        #expect(all.allSatisfy { $0["app"]?.string == "com.example.app" })
        let names = all.map { $0["device"]?.string ?? "" }
        #expect(names[0] == names[2] && names[1] == names[3] && names[0] != names[1])
        #expect(all[3]["reason"]?.string == "Unregistered")
        #expect(all[3]["event_id"]?.integer ?? 0 > 0)
        #expect(!all.contains { $0.text.contains("token-") })
        await rig.end()
    }
}
