import Foundation
import GRDB
import PluginRig
import Signalbox
import SignalboxCore
import SignalboxDispatch
import SignalboxHTTP
import SignalboxJSON
import SignalboxSimulators
import Testing

/// Providers that are down, refuse us or fail, and what happens to the pushes.
@Suite struct OutageTests {
    /// One route to both simulators, whose policy gives up at the first attempt that counts.
    static func yaml(_ simulators: Simulators, timeoutMs: Int = 400) -> String {
        DurabilityTests.yaml(simulators, retries: 0, timeoutMs: timeoutMs)
    }

    static func webhook(_ type: String, _ tokens: [String], ticket: String = "5") -> String {
        GatewayRig.webhook(tokens.map { (type, $0) }, ticket: ticket)
    }

    static func readiness(_ rig: GatewayRig) async throws -> JSONValue {
        try await rig.json("/readyz")
    }

    static func state(_ sender: String, _ rig: GatewayRig) async throws -> String? {
        try await states(sender, rig).first
    }

    static func states(_ sender: String, _ rig: GatewayRig) async throws -> [String] {
        let all = try await readiness(rig)["senders"]?.items ?? []
        return all.filter { $0["sender"]?.string == sender }.compactMap { $0["state"]?.string }
    }

    /// Waits for a line in the metrics: a counter may rise after the answer that a test has seen.
    static func expectMetric(_ line: String, _ rig: GatewayRig) async throws {
        for _ in 0..<6_000 {
            if rig.metrics.contains(line) { return }
            try await Task.sleep(for: .milliseconds(10))
        }
        Issue.record("no metric \(line)")
    }

    /// Waits for a line of the log.
    static func line(_ rig: GatewayRig, _ words: String) async throws -> String {
        for _ in 0..<6_000 {
            if let line = rig.log.all.first(where: { $0.contains(words) }) { return line }
            try await Task.sleep(for: .milliseconds(10))
        }
        Issue.record("no line with \(words)")
        return ""
    }

    static func dead(_ rig: GatewayRig) async throws -> Int64? {
        try await rig.json("/dead")["count"]?.integer
    }

    @Test(.timeLimit(.minutes(1)))
    func `a stop does not wait for a provider that is away`() async throws {
        let rig = try await GatewayRig(config: {
            let yaml = Self.yaml($0)
            return yaml.replacing(/drain: \d+s/, with: "drain: 600s")
        })
        try await rig.simulators.apns.take(.closeListener(cut: true))
        #expect(try await rig.post(Self.webhook("ios", ["a", "b", "c"])).status == 200)
        _ = try await Self.line(rig, "provider seems to be down")
        #expect(await rig.gateway.stop() == 3)
        await rig.end()
    }

    @Test func `pushes that could not be sent outlive the outage and use up no attempt`()
        async throws
    {
        let rig = try await GatewayRig(config: { Self.yaml($0) })
        try await rig.simulators.apns.take(.closeListener(cut: true))
        #expect(try await rig.post(Self.webhook("ios", ["a", "b", "c"])).status == 200)
        let line = try await Self.line(rig, "provider seems to be down")
        #expect(line.contains("reason=unreachable") && line.contains("plugin.instance=apns"))
        #expect(try await Self.state("apns", rig) == "failing")
        let readiness = try await Self.readiness(rig)
        #expect(readiness["status"]?.string == "degraded")
        let row = readiness["senders"]?.items?.first { $0["state"]?.string == "failing" }
        #expect(row?["detail"]?.string?.contains("refused") == true, "\(readiness.text)")
        #expect(
            rig.metrics.contains("signalbox_sender_held{sender=\"apns\",app=\"\"} 1"))
        try await rig.simulators.apns.take(.openListener)
        #expect(Set(await rig.delivered(rig.simulators.apns, 3)) == ["a", "b", "c"])
        _ = try await Self.line(rig, "provider is back")
        _ = try await Self.line(rig, "connected to the provider again")
        #expect(rig.log.all.count { $0.contains("cannot connect to the provider") } == 1)
        #expect(try await Self.dead(rig) == 0)
        await rig.end()
    }

    @Test func `a reload asks a token endpoint again that has refused`() async throws {
        let rig = try await GatewayRig(
            config: { Self.yaml($0) },
            prepare: { simulators, _ in
                try await simulators.fcm.take(
                    .fail(tokens: ["/token"], status: 400, reason: "invalid_grant", times: 1))
            })
        try await rig.post(Self.webhook("android", ["a"]))
        let line = try await Self.line(rig, "refuses this sender's credentials")
        #expect(line.contains("plugin.instance=fcm") && line.contains("was refused"))
        #expect(line.contains("reason=credential_refused"))
        #expect(try await Self.state("fcm", rig) == "misconfigured")
        #expect(try await Self.dead(rig) == 0)
        try await rig.gateway.reload()
        #expect(await rig.delivered(rig.simulators.fcm, 1) == ["a"])
        await rig.end()
    }

    @Test func `a revoked key holds the sender, costs a handful of requests, and kills nothing`()
        async throws
    {
        let rig = try await GatewayRig(config: { Self.yaml($0, timeoutMs: 20_000) })
        try await rig.simulators.apns.take(
            .fail(tokens: [], status: 403, reason: "InvalidProviderToken", times: nil))
        for number in 0..<20 {
            let tokens = (0..<15).map { "t\(number)-\($0)" }
            let answer = try await rig.post(
                GatewayRig.webhook(
                    tokens.map { ("ios", $0) } + [("android", "f\(number)")],
                    ticket: "\(number)"))
            #expect(answer.status == 200)
        }
        let line = try await Self.line(rig, "refuses this sender's credentials")
        #expect(line.contains("reason=InvalidProviderToken"))
        // Its neighbour continues.
        #expect(await rig.delivered(rig.simulators.fcm, 20).count == 20)
        #expect(rig.simulators.apns.received.count <= LaneHealth.inFlightFirst)
        #expect(try await Self.state("apns", rig) == "misconfigured")
        let senders = try await Self.readiness(rig)["senders"]?.text ?? ""
        #expect(
            senders.contains(
                #""reason":"InvalidProviderToken","detail":"code 403","held_since_unix_ms":"#),
            "\(senders)")
        #expect(senders.contains(#""credentials":"refused""#))
        #expect(try await Self.dead(rig) == 0)
        #expect(rig.log.all.filter { $0.contains("refuses this sender's") }.count == 1)

        // Somebody fixes it at Apple, and triggers a reload.
        try await rig.simulators.apns.take(.clear)
        try await rig.gateway.reload()
        #expect(Set(await rig.delivered(rig.simulators.apns, 300)).count == 300)
        #expect(try await Self.dead(rig) == 0)
        await rig.end()
    }

    @Test func `a sender whose token endpoint is out of reach is held until it has a credential`()
        async throws
    {
        let rig = try await GatewayRig(
            config: { Self.yaml($0, timeoutMs: 20_000) },
            prepare: { simulators, _ in try await simulators.fcm.take(.closeListener(cut: true)) })
        try await rig.post(Self.webhook("android", ["a", "b", "c"]))
        let line = try await Self.line(rig, "provider seems to be down")
        #expect(line.contains("reason=credential") && line.contains("plugin.instance=fcm"))
        #expect(try await Self.readiness(rig)["status"]?.string == "degraded")
        #expect(try await Self.state("fcm", rig) == "failing")
        let senders = try await Self.readiness(rig)["senders"]?.text ?? ""
        #expect(senders.contains(#""reason":"credential","held_since_unix_ms":"#))
        #expect(senders.contains(#""credentials":"missing""#))
        try await Self.expectMetric("signalbox_sender_held{sender=\"fcm\",app=\"\"} 1", rig)
        try await rig.simulators.fcm.take(.openListener)
        #expect(Set(await rig.delivered(rig.simulators.fcm, 3)) == ["a", "b", "c"])
        _ = try await Self.line(rig, "provider is back")
        #expect(try await Self.dead(rig) == 0)
        await rig.end()
    }

    @Test func `a used-up quota slows the sender down to a handful`() async throws {
        let rig = try await GatewayRig(config: { Self.yaml($0, timeoutMs: 20_000) })
        try await rig.simulators.fcm.take(
            .fail(tokens: [], status: 429, reason: "QUOTA_EXCEEDED", times: nil))
        try await rig.post(Self.webhook("android", (0..<100).map { "t\($0)" }))
        _ = try await Self.line(rig, "asks to slow down")
        #expect(try await Self.state("fcm", rig) == "throttled")
        #expect(rig.simulators.fcm.received.count <= LaneHealth.inFlightFirst)
        #expect(try await Self.dead(rig) == 0)
        await rig.end()
    }

    @Test func `a push that is answered after its time-out is not sent again`() async throws {
        let rig = try await GatewayRig(config: {
            DurabilityTests.yaml($0, retries: 5, timeoutMs: 2_000).replacingOccurrences(
                of: "initial: 5ms, factor: 1, max: 10ms", with: "initial: 5m, factor: 1, max: 5m")
        })
        try await rig.simulators.fcm.take(.delay(ms: 2_800))
        try await rig.post(Self.webhook("android", ["a", "b", "c"]))
        _ = try await Self.line(rig, "reason=timeout")
        try await until { rig.log.all.filter({ $0.contains("info delivered") }).count >= 3 }
        #expect(rig.log.all.filter { $0.contains("info delivered") }.count == 3)
        #expect(await rig.gateway.stop() == 0)
        #expect(rig.simulators.fcm.received.count == 3)
        await rig.end()
    }

    @Test func `deliveries of a plugin that a reload took away go on when another brings it back`()
        async throws
    {
        let rig = try await GatewayRig(config: { Self.yaml($0, timeoutMs: 20_000) })
        let file = rig.file
        let whole = try rig.text
        try await rig.simulators.fcm.take(
            .fail(tokens: [], status: 503, reason: "UNAVAILABLE", times: nil))
        try await rig.post(Self.webhook("android", ["a", "b", "c"]))
        #expect(await rig.simulators.fcm.wait(for: 3).count >= 3)
        let start = try #require(whole.range(of: "  fcm:\n"))
        let end = try #require(whole.range(of: "\nretry:"))
        let without = (whole[..<start.lowerBound] + whole[end.lowerBound...])
            .replacingOccurrences(of: ", android: fcm", with: "")
        try without.write(to: file, atomically: true, encoding: .utf8)
        try await rig.gateway.reload()
        _ = try await Self.line(rig, "a plugin that is not configured")
        // It is reported once, and not also as a sender that cannot start.
        #expect(try await Self.states("fcm", rig) == ["not_configured"])
        try await rig.simulators.fcm.take(.clear)
        try whole.write(to: file, atomically: true, encoding: .utf8)
        try await rig.gateway.reload()
        #expect(Set(await rig.delivered(rig.simulators.fcm, 3)) == ["a", "b", "c"])
        await rig.end()
    }

    /// Deliveries that no lane knows of are found, whatever the reason.
    private static func record(_ value: some RecordValue) -> Data {
        var out = RecordWriter()
        out.append(value)
        return Data(out.bytes)
    }

    @Test func `deliveries that wait with nobody to wake for them are found, sent and reported`()
        async throws
    {
        let rig = try await GatewayRig(config: { Self.yaml($0, timeoutMs: 20_000) })
        try await rig.post(Self.webhook("ios", ["first"]))
        #expect(await rig.delivered(rig.simulators.apns, 1) == ["first"])
        let file = rig.folder.appending(path: "data/signalbox.sqlite").path
        var configuration = Configuration()
        configuration.busyMode = .timeout(60)
        let queue = try DatabaseQueue(path: file, configuration: configuration)
        var note = PushNotification()
        note.title = "T"
        let (content, device) = (
            Self.record(note), Self.record(Device(platform: "ios", token: "lost"))
        )
        try await queue.write { db in
            try db.execute(
                sql: """
                    INSERT INTO payload (id, event, source, type, subject, received, note, refs)
                    VALUES (900001, 900002, 'z', 't', 's', 1, ?, 1);
                    INSERT INTO delivery (id, lane, rank, due, leased, attempt, deadline, payload,
                      route, stable, badge, device)
                    SELECT 900003, id, 1, 1, 0, 1, 0, 900001, 'replies',
                      '11111111-1111-4111-8111-111111111111', NULL, ?
                    FROM lane WHERE sender = 'apns';
                    """,
                arguments: [content, device])
        }
        try queue.close()
        #expect(Set(await rig.delivered(rig.simulators.apns, 2)) == ["first", "lost"])
        _ = try await Self.line(rig, "woke a lane that slept")
        #expect(rig.metrics.contains("signalbox_stranded_total{sender=\"apns\"} 1"))
        await rig.end()
    }

    @Test func `a sender that cannot start for want of a file keeps its deliveries`() async throws {
        let rig = try await GatewayRig(config: { simulators in
            // The sender of the second app is created for its first delivery.
            GatewayRig.plugins(simulators)
                .replacingOccurrences(
                    of: "topic: com.example.app",
                    with: "topic: com.example.app\n      topics: [com.example.two]"
                ).replacingOccurrences(of: "drain: 5s", with: "drain: 5s, sources: [own]") + """

                    routes:
                      - name: own
                        from: own
                        build: { with: z, set: { title: T } }
                        send: { ios: apns }
                    """
        })
        let ca = rig.simulators.files.ca
        try FileManager.default.moveItem(atPath: ca, toPath: ca + ".away")
        var event = Event(type: "t")
        event.recipients = [
            Recipient(
                device: Device(app: "com.example.two", platform: "ios", token: "kept"),
                attributes: [])
        ]
        _ = try await rig.gateway.submit([event], from: "own")
        let line = try await Self.line(rig, "sender cannot start")
        #expect(line.contains("app=com.example.two"))
        #expect(try await Self.dead(rig) == 0)
        #expect(try await Self.readiness(rig)["status"]?.string == "degraded")
        try FileManager.default.moveItem(atPath: ca + ".away", toPath: ca)
        #expect(await rig.delivered(rig.simulators.apns, 1) == ["kept"])
        #expect(try await Self.readiness(rig)["status"]?.string == "ready")
        await rig.end()
    }
}
