import Foundation
import PluginRig
import SignalboxCore
import SignalboxHTTP
import SignalboxJSON
import SignalboxSimulators
import Testing

/// NATS JetStream with real servers: events from a stream, and outcomes into one.
@Suite(.timeLimit(.minutes(5))) struct NATSTests {
    private static func yaml(
        _ simulators: Simulators, _ cluster: NATSCluster, publish: String = "", more: String = ""
    ) -> String {
        let outcomes =
            publish.isEmpty
            ? "" : "outcomes:\n  - { name: lake, plugin: z, results: [delivered] }\n"
        return GatewayRig.plugins(simulators).replacing(
            "  z: { library: Zendesk, config: { path: /in/z } }\n",
            with: """
                  texts: { library: Texts }
                  z:
                    library: NATS\(more)
                    config: { servers: \(cluster.servers), stream: EVENTS, publish: "\(publish)" }

                """) + "\n" + outcomes
            + GatewayRig.routes.replacing("ticket.replied", with: "order.shipped").replacing(
                "from: z", with: "from: z\n    build: { with: texts, set: { title: A } }")
    }

    private static func event(_ token: String) -> String {
        """
        {"type":"order.shipped","dedupe":"\(token)","data":{"title":"Order \(token)"},
         "recipients":[{"platform":"ios","token":"\(token)"}]}
        """
    }

    /// What is not acknowledged: messages that wait, and messages under way.
    private static func open(_ cluster: NATSCluster) async -> Int64? {
        let facts = try? await cluster.ask("$JS.API.CONSUMER.INFO.EVENTS.signalbox", "")
        guard let pending = facts?["num_pending"]?.integer,
            let underWay = facts?["num_ack_pending"]?.integer
        else { return nil }
        return pending + underWay
    }

    private static func untilAllAcknowledged(_ cluster: NATSCluster) async throws {
        for _ in 0..<1_200 {
            if await open(cluster) == 0 { return }
            try await Task.sleep(for: .milliseconds(50))
        }
        Issue.record("messages stay unacknowledged")
    }

    @Test
    func `messages become pushes and are acknowledged, and one that is no event harms no other`()
        async throws
    {
        let cluster = try NATSCluster(count: 1)
        try await cluster.stream("EVENTS", subjects: "orders.>")
        for number in 1...30 {
            try await cluster.publish("orders.\(number)", Self.event("t\(number)"))
        }
        let bad = [
            "", "no JSON", "[]", #"{"data":{}}"#, #"{"type":"x","recipients":[{}]}"#,
            #"{"type":"x","recipient":[]}"#, #"{"type":"x","recipients":[{"token":"t"}]}"#,
        ]
        for bad in bad {
            try await cluster.publish("orders.bad", bad)
        }
        let mixed = [
            #"{}"#, #"{"token":"t"}"#, #"[]"#, #"{"user":"u","lang":"de"}"#, #"{"user":"u\u0007"}"#,
            #"{"platform":"ios","token":"t31"}"#,
        ]
        try await cluster.publish(
            "orders.31",
            #"{"type":"order.shipped","recipients":[\#(mixed.joined(separator: ","))]}"#)
        let phones = (1...9).map { #"{"platform":"ios","token":"many\#($0)"}"# }
        try await cluster.publish(
            "orders.32",
            #"{"type":"order.shipped","recipients":[\#(phones.joined(separator: ","))]}"#)
        let rig = try await GatewayRig(config: {
            Self.yaml($0, cluster, more: "\n    isolation: process").replacing(
                "drain: 5s", with: "drain: 5s, limits: { devices_per_event: 8 }")
        })
        let all = await rig.delivered(rig.simulators.apns, 31)
        #expect(all.sorted() == (1...31).map { "t\($0)" }.sorted())
        try await Self.untilAllAcknowledged(cluster)
        let metrics = rig.metrics
        #expect(metrics.contains(#"signalbox_plugin_messages_refused_total{instance="z"} 7"#))
        for words in [
            #"it has the unknown member "recipient"; known: type, subject"#,
            "a recipient has a token and no platform",
        ] { #expect(rig.log.all.contains { $0.contains(words) }, "\(words)") }
        #expect(metrics.contains(#"signalbox_plugin_connected{instance="z"} 1"#))
        #expect(
            metrics.contains(#"signalbox_events_total{source="z",result="too_many_devices"} 1"#))
        await rig.end()
        await cluster.end()
    }

    @Test func `what a stream has stored is pushed, while a server and the gateway are killed`()
        async throws
    {
        let cluster = try NATSCluster()
        try await cluster.stream("EVENTS", subjects: "orders.>")
        let simulators = try await Simulators.start(SimulatorsOptions())
        let file = try ProgramTests.temporary("gateway.yaml", Self.yaml(simulators, cluster))
        var running = try await CrashTests.start(file)
        var tokens: [String] = []
        for number in 1...300 {
            let token = "t\(number)"
            try await cluster.publish("orders.\(number)", Self.event(token))
            tokens.append(token)
            if number == 80 { try await cluster.kill(0) }
            if number == 160 {
                try await running.kill()
                running = try await CrashTests.start(file)
            }
            if number == 220 { try cluster.restart(0) }
        }
        #expect(try await simulators.missing(of: tokens).isEmpty)
        try await Self.untilAllAcknowledged(cluster)
        try await running.end()
        // Only what was in flight when the gateway was killed may come twice: what is published twice has one key.
        let pushed = simulators.apns.received.filter { $0.status == 200 }.map(\.token)
        print("NATS: \(tokens.count) messages, \(pushed.count - tokens.count) pushed twice")
        await simulators.shutdown()
        await cluster.end()
    }

    @Test func `outcomes are in a stream, each once, also while a server is away`() async throws {
        let cluster = try NATSCluster()
        try await cluster.stream("EVENTS", subjects: "orders.>")
        try await cluster.stream("LAKE", subjects: "lake.outcomes")
        let rig = try await GatewayRig(config: {
            Self.yaml($0, cluster, publish: "lake.outcomes")
        })
        for number in 1...60 {
            try await cluster.publish("orders.\(number)", Self.event("t\(number)"))
            if number == 20 { try await cluster.kill(1) }
        }
        #expect(await rig.delivered(rig.simulators.apns, 60).count == 60)
        var stored: Int64 = 0
        for _ in 0..<1_200 where stored < 60 {
            let facts = try? await cluster.ask("$JS.API.STREAM.INFO.LAKE", "")
            stored = facts?["state"]?["messages"]?.integer ?? 0
            try await Task.sleep(for: .milliseconds(50))
        }
        #expect(stored == 60)
        await rig.end()
        await cluster.end()
    }

    @Test func `two data folders count their outcomes alike, and a stream keeps those of both`()
        async throws
    {
        let cluster = try NATSCluster(count: 1)
        try await cluster.stream("EVENTS", subjects: "orders.>")
        try await cluster.stream("LAKE", subjects: "lake.outcomes")
        for round in 0..<2 {
            let rig = try await GatewayRig(config: {
                Self.yaml($0, cluster, publish: "lake.outcomes")
            })
            for number in 1...5 {
                try await cluster.publish("orders.1", Self.event("t\(round)-\(number)"))
            }
            #expect(await rig.delivered(rig.simulators.apns, 5).count == 5)
            var stored: Int64 = 0
            for _ in 0..<600 where stored < Int64(round + 1) * 5 {
                let facts = try? await cluster.ask("$JS.API.STREAM.INFO.LAKE", "")
                stored = facts?["state"]?["messages"]?.integer ?? 0
                try await Task.sleep(for: .milliseconds(50))
            }
            #expect(stored == Int64(round + 1) * 5)
            await rig.end()
        }
        await cluster.end()
    }

    @Test func `a consumer that is removed is made again, and a stream made again is another one`()
        async throws
    {
        let cluster = try NATSCluster(count: 1)
        try await cluster.stream("EVENTS", subjects: "orders.>")
        let rig = try await GatewayRig(config: { Self.yaml($0, cluster) })
        func send(_ token: String) async throws {
            let key = #""dedupe":"\#(token)","#
            try await cluster.publish("orders.1", Self.event(token).replacing(key, with: ""))
        }
        try await send("t1")
        #expect(await rig.delivered(rig.simulators.apns, 1) == ["t1"])
        _ = try await cluster.ask("$JS.API.CONSUMER.DELETE.EVENTS.signalbox", "")
        try await send("t2")
        #expect(await rig.delivered(rig.simulators.apns, 2).sorted() == ["t1", "t2"])
        _ = try await cluster.ask("$JS.API.STREAM.DELETE.EVENTS", "")
        try await cluster.stream("EVENTS", subjects: "orders.>")
        try await send("t3")
        #expect(await rig.delivered(rig.simulators.apns, 3).sorted() == ["t1", "t2", "t3"])
        await rig.end()
        await cluster.end()
    }

    @Test func `what finds no room on the disk comes again when there is some`() async throws {
        let cluster = try NATSCluster(count: 1)
        try await cluster.stream("EVENTS", subjects: "orders.>")
        let rig = try await GatewayRig(
            dataBytesMax: 600_000,
            config: {
                Self.yaml($0, cluster).replacing("title: A", with: "title: A, body: \"{{ text }}\"")
            })
        try await rig.simulators.apns.take(.closeListener(cut: true))
        let text = String(repeating: "x", count: 3_000)
        let tokens = (1...300).map { "t\($0)" }
        for token in tokens {
            let event = Self.event(token).replacing(
                #""data":{"#, with: #""data":{"text":"\#(text)","#)
            try await cluster.publish("orders.1", event)
        }
        let again = #/source_batches_total\{instance="z",result="again"\} [1-9]/#
        while rig.metrics
            .firstMatch(of: again) == nil
        {
            try await Task.sleep(for: .milliseconds(20))
        }
        try await rig.simulators.apns.take(.openListener)
        #expect(Set(await rig.delivered(rig.simulators.apns, tokens.count)) == Set(tokens))
        try await Self.untilAllAcknowledged(cluster)
        await rig.end()
        await cluster.end()
    }

    @Test func `a gateway starts without its bus, says so, and takes in what came meanwhile`()
        async throws
    {
        let cluster = try NATSCluster(count: 1)
        try await cluster.stream("EVENTS", subjects: "orders.>")
        try await cluster.publish("orders.1", Self.event("t1"))
        try await cluster.kill(0)
        let rig = try await GatewayRig(config: { Self.yaml($0, cluster) })
        let ready = String(decoding: try await rig.admin("/readyz").body, as: UTF8.self)
        #expect(ready.contains("no server of NATS can be reached"))
        try cluster.restart(0)
        #expect(await rig.delivered(rig.simulators.apns, 1) == ["t1"])
        await rig.end()
        await cluster.end()
    }
}
