import Foundation
import PluginRig
import SignalboxCore
import SignalboxHTTP
import SignalboxJSON
import SignalboxSimulators
import Testing

/// Kafka's protocol over sockets: events from topics, offsets committed in order, and outcomes into a topic.
@Suite(.timeLimit(.minutes(5))) struct KafkaTests {
    private static func yaml(
        _ simulators: Simulators, _ brokers: String, publish: String = "", more: String = "",
        config: String = ""
    ) -> String {
        let outcomes =
            publish.isEmpty
            ? "" : "outcomes:\n  - { name: lake, plugin: z, results: [delivered] }\n"
        return GatewayRig.plugins(simulators).replacing(
            "  z: { library: Zendesk, config: { path: /in/z } }\n",
            with: """
                  texts: { library: Texts }
                  z:
                    library: Kafka\(more)
                    config:
                      { brokers: \(brokers), topics: [orders], publish: "\(publish)"\(config),
                        properties: { session.timeout.ms: 6000, heartbeat.interval.ms: 500 } }

                """) + "\n" + outcomes
            + GatewayRig.routes.replacing("ticket.replied", with: "order.shipped").replacing(
                "from: z", with: "from: z\n    build: { with: texts, set: { title: A } }")
    }

    private static func event(_ token: String) -> String {
        """
        {"type":"order.shipped","data":{"title":"Order \(token)"},
         "recipients":[{"platform":"ios","token":"\(token)"}]}
        """
    }

    /// Waits until a group has committed so many messages.
    private static func untilCommitted(_ brokers: KafkaBrokers, _ count: Int64) async throws {
        var sum: Int64 = 0
        for _ in 0..<600 {
            sum = try await brokers.committed("signalbox", "orders", partitions: 4)
            if sum == count { return }
            try await Task.sleep(for: .milliseconds(50))
        }
        Issue.record("\(sum) of \(count) messages are committed")
    }

    @Test
    func
        `messages become pushes, their offsets are committed, and one that is no event harms no other`()
        async throws
    {
        let brokers = try KafkaBrokers(topics: ["orders": 4])
        let bad = [
            "", "no JSON", "[]", #"{"data":{}}"#, #"{"type":"x","recipients":[{}]}"#,
            #"{"type":"order.shipped","recipient":[{"platform":"ios","token":"t"}]}"#,
        ]
        try await brokers.publish("orders", (1...30).map { Self.event("t\($0)") })
        try await brokers.publish("orders", bad)
        try await brokers.publish("orders", [Self.event("t31")])
        let rig = try await GatewayRig(config: { Self.yaml($0, brokers.list) })
        let all = await rig.delivered(rig.simulators.apns, 31)
        #expect(all.sorted() == (1...31).map { "t\($0)" }.sorted())
        try await Self.untilCommitted(brokers, 37)
        let metrics = rig.metrics
        #expect(metrics.contains(#"signalbox_plugin_messages_refused_total{instance="z"} 6"#))
        #expect(metrics.contains(#"signalbox_plugin_connected{instance="z"} 1"#))
        await rig.end()
        brokers.end()
    }

    @Test func `what a topic has is pushed, while a broker is away and the gateway is killed`()
        async throws
    {
        let brokers = try KafkaBrokers(topics: ["orders": 4])
        let simulators = try await Simulators.start(SimulatorsOptions())
        let yaml = Self.yaml(simulators, brokers.list)
        let file = try ProgramTests.temporary("gateway.yaml", yaml)
        var running = try await CrashTests.start(file)
        var tokens: [String] = []
        for number in 1...300 {
            let token = "t\(number)"
            try await brokers.publish("orders", [Self.event(token)])
            tokens.append(token)
            if number == 80 { brokers.fail(2) }
            if number == 160 {
                try await running.kill()
                running = try await CrashTests.start(file)
            }
            if number == 220 { brokers.restore(2) }
        }
        #expect(try await simulators.missing(of: tokens).isEmpty)
        try await Self.untilCommitted(brokers, 300)
        try await running.end()
        // Only what was in flight when the gateway was killed may come twice: messages that are read again have their key.
        let pushed = simulators.apns.received.filter { $0.status == 200 }.map(\.token)
        print("Kafka: \(tokens.count) messages, \(pushed.count - tokens.count) pushed twice")
        await simulators.shutdown()
        brokers.end()
    }

    @Test func `two gateways of a group share the messages, and one takes over from the other`()
        async throws
    {
        let brokers = try KafkaBrokers(topics: ["orders": 4])
        let first = try await GatewayRig(config: { Self.yaml($0, brokers.list) })
        let second = try await GatewayRig(config: { Self.yaml($0, brokers.list) })
        func pushed() -> [String] {
            (first.simulators.apns.received + second.simulators.apns.received).filter {
                $0.status == 200
            }.map(\.token)
        }
        var tokens: Set<String> = []
        var number = 0
        // Until both have partitions, and then once more after one has gone.
        while first.simulators.apns.received.isEmpty || second.simulators.apns.received.isEmpty {
            let more = (0..<20).map { "t\(number + $0)" }
            number += 20
            tokens.formUnion(more)
            try await brokers.publish("orders", more.map(Self.event))
            try await Task.sleep(for: .milliseconds(100))
        }
        await first.gateway.stop()
        let last = (0..<40).map { "u\($0)" }
        tokens.formUnion(last)
        try await brokers.publish("orders", last.map(Self.event))
        try await until { Set(pushed()) == tokens }
        #expect(Set(pushed()) == tokens)
        try await Self.untilCommitted(brokers, Int64(tokens.count))
        await first.end()
        await second.end()
        brokers.end()
    }

    @Test func `outcomes are in a topic, those of a user under one key`() async throws {
        let brokers = try KafkaBrokers(topics: ["orders": 4, "lake": 2])
        let rig = try await GatewayRig(config: {
            Self.yaml($0, brokers.list, publish: "lake")
        })
        try await brokers.publish("orders", (1...20).map { Self.event("t\($0)") })
        #expect(await rig.delivered(rig.simulators.apns, 20).count == 20)
        brokers.fail(2)
        try await brokers.publish("orders", (21...40).map { Self.event("t\($0)") })
        #expect(await rig.delivered(rig.simulators.apns, 40).count == 40)
        let all = try await brokers.messages("lake", 40)
        let sequences = try all.map { try JSONValue.parse($0.body)["sequence"]?.integer }
        #expect(Set(sequences).count == 40)
        #expect(
            try all.allSatisfy { try JSONValue.parse($0.body)["result"]?.string == "delivered" })
        await rig.end()
        brokers.end()
    }

    @Test func `messages of another shape are events with a map`() async throws {
        let brokers = try KafkaBrokers(count: 1, topics: ["orders": 4])
        let map = """
            , map: { type: /kind, subject: /order/number, user: /customer, app: com.example.app, id: /id }
            """
        let rig = try await GatewayRig(config: {
            Self.yaml($0, brokers.list, config: map) + """

                devices: { clients: [{ name: b, token: a-token-of-sixteen-letters, app: com.example.app, scopes: [read, write] }] }
                """
        })
        let device = #"{"user":"7","app":"com.example.app","platform":"ios","token":"00aa"}"#
        let made = try await DeviceTests.call(
            rig, "POST", "/v1/devices", device, token: "a-token-of-sixteen-letters")
        #expect(made.status == 200)
        let order = #"{"id":1,"kind":"order.shipped","customer":7,"order":{"number":4711}}"#
        try await brokers.publish("orders", [order, order, #"{"kind":"order.shipped"}"#])
        #expect(await rig.delivered(rig.simulators.apns, 1) == ["00aa"])
        try await Self.untilCommitted(brokers, 3)
        let metrics = rig.metrics
        #expect(metrics.contains(#"signalbox_plugin_messages_refused_total{instance="z"} 1"#))
        #expect(rig.simulators.apns.received.count == 1)
        await rig.end()
        brokers.end()
    }

    @Test func `messages beside one that is too large and one that is no event are pushed`()
        async throws
    {
        let brokers = try KafkaBrokers(count: 1, topics: ["orders": 1])
        // More than the gateway takes; these brokers forget what is older than 5 MiB.
        let text = String(repeating: "x", count: 4_300_000)
        let large = Self.event("large").replacing(
            #""data":{"#, with: #""data":{"text":"\#(text)","#)
        try await brokers.publish(
            "orders", ["no event", Self.event("t1"), large, Self.event("t2"), "no event"])
        try await brokers.publish("orders", [Self.event("t3")])
        let rig = try await GatewayRig(config: { Self.yaml($0, brokers.list) })
        #expect(await rig.delivered(rig.simulators.apns, 3).sorted() == ["t1", "t2", "t3"])
        for _ in 0..<600 {
            if try await brokers.committed("signalbox", "orders", partitions: 1) == 6 { break }
            try await Task.sleep(for: .milliseconds(50))
        }
        let metrics = rig.metrics
        #expect(metrics.contains(#"signalbox_plugin_messages_refused_total{instance="z"} 3"#))
        await rig.end()
        brokers.end()
    }

    @Test func `what finds no room on the disk is read again when there is some`() async throws {
        let brokers = try KafkaBrokers(topics: ["orders": 4])
        let rig = try await GatewayRig(
            dataBytesMax: 600_000,
            config: {
                Self.yaml($0, brokers.list).replacing(
                    "title: A", with: "title: A, body: \"{{ text }}\"")
            })
        try await rig.simulators.apns.take(.closeListener(cut: true))
        let text = String(repeating: "x", count: 3_000)
        let tokens = (1...300).map { "t\($0)" }
        try await brokers.publish(
            "orders",
            tokens.map {
                Self.event($0).replacing(#""data":{"#, with: #""data":{"text":"\#(text)","#)
            })
        let again = #/source_batches_total\{instance="z",result="again"\} [1-9]/#
        while rig.metrics
            .firstMatch(of: again) == nil
        {
            try await Task.sleep(for: .milliseconds(20))
        }
        try await rig.simulators.apns.take(.openListener)
        #expect(Set(await rig.delivered(rig.simulators.apns, tokens.count)) == Set(tokens))
        try await Self.untilCommitted(brokers, 300)
        await rig.end()
        brokers.end()
    }

    @Test func `a gateway starts without its brokers or topic, and says so`() async throws {
        let away = try await GatewayRig(config: { Self.yaml($0, #"["127.0.0.1:1"]"#) })
        try await Self.untilReady(away, says: "no broker of Kafka answers")
        await away.end()
        let brokers = try KafkaBrokers(count: 1, topics: [:])
        brokers.lack("orders")
        let rig = try await GatewayRig(config: { Self.yaml($0, brokers.list) })
        try await Self.untilReady(rig, says: "topic orders")
        await rig.end()
        brokers.end()
    }

    private static func untilReady(_ rig: GatewayRig, says words: String) async throws {
        var ready = ""
        for _ in 0..<600 {
            ready = String(decoding: try await rig.admin("/readyz").body, as: UTF8.self)
            if ready.contains(words) { return }
            try await Task.sleep(for: .milliseconds(50))
        }
        Issue.record("readyz does not say \(words): \(ready)")
    }
}
