import Foundation
import PluginRig
import Signalbox
import SignalboxCore
import SignalboxHTTP
import SignalboxJSON
import SignalboxSimulators
import Testing

/// Apps come from events, so a sender of events could make the gateway open a connection for each name that it invents.
@Suite(.timeLimit(.minutes(3))) struct ManyAppsTests {
    private static func config(_ simulators: Simulators) -> String {
        GatewayRig.plugins(simulators).replacing(
            "  z: { library: Zendesk, config: { path: /in/z } }",
            with: "  texts: { library: Texts }"
        ).replacing("drain: 5s", with: "drain: 5s, sources: [program]") + """

            routes:
              - { name: hello, from: program, build: { with: texts }, send: { ios: apns, android: fcm } }
            """
    }

    @Test func `more apps than there is room for take turns, and none is left behind`() async throws
    {
        let rig = try await GatewayRig(
            change: { $0.lanesMax = 16 },
            config: Self.config)
        // So slow that some wait until somebody has looked.
        try await rig.simulators.fcm.take(.delay(ms: 400))
        let tokens = (1...80).map { "t\($0)" }
        let events = tokens.map { token in
            let device = Device(app: "com.example.\(token)", platform: "android", token: token)
            return Event(
                type: "hello", data: #"{"title":"Hello"}"#, recipients: [Recipient(device: device)])
        }
        _ = try await rig.gateway.submit(events, from: "program")
        var most = 0
        var isSaid = false
        while Set(rig.simulators.fcm.received.map(\.token)) != Set(tokens) {
            let ready = try await rig.json("/readyz")
            guard case .array(let senders) = ready["senders"] else { continue }
            most = max(most, senders.count)
            if ready["senders_queued"]?.integer ?? 0 > 0, !isSaid {
                isSaid = true
                try await rig.simulators.fcm.take(.clear)
            }
            try await Task.sleep(for: .milliseconds(50))
        }
        // With the lanes without an app, of both senders.
        #expect(most <= 18 && isSaid)
        #expect(rig.simulators.fcm.received.count == tokens.count)
        #expect(rig.log.all.contains { $0.contains("too many senders and apps at once") })
        // Those that have nothing to do end, and so do their series.
        var left = 0
        repeat {
            let page = rig.metrics
            left = page.split(separator: "\n").count {
                $0.hasPrefix("signalbox_leases_lost_total") && $0.contains("com.example.t")
            }
            try await Task.sleep(for: .milliseconds(50))
        } while left > 16
        await rig.end()
    }

    private static func event(_ devices: [Device]) -> Event {
        Event(
            type: "hello", data: #"{"title":"Hello"}"#,
            recipients: devices.map { Recipient(device: $0) })
    }

    private static let long = String(repeating: "n", count: 257)
    private static let unusable = [
        Device(app: long, platform: "ios", token: "t"), Device(platform: long, token: "t"),
        Device(platform: "ios", provider: long, token: "t"), Device(user: long),
        Device(app: "a\u{1B}[2J", platform: "ios", token: "t"),
        Device(platform: "ios\n", token: "t"), Device(user: "u\u{7F}"), Device(user: "u\0"),
        Device(platform: "ios", token: String(repeating: "t", count: 4_097)),
    ]

    @Test func `one recipient that cannot be used harms no other, and is counted`() async throws {
        let rig = try await GatewayRig(config: Self.config)
        let phone = Device(app: "com.example.app", platform: "android", token: "t1")
        let events = [
            Self.event(Self.unusable + [phone, Device()]), Self.event([Self.unusable[0]]),
        ]
        let taken = try await rig.gateway.submit(events, from: "program")
        #expect(taken.map(\.deliveryCount) == [1, 0])
        #expect(await rig.delivered(rig.simulators.fcm, 1) == ["t1"])
        let metrics = rig.gateway.metricsText
        for (reason, count) in [
            ("name_too_long", 5), ("control_character", 4), ("token_too_long", 1), ("no_token", 1),
        ] {
            let name = #"signalbox_recipients_skipped_total{route="hello",reason="\#(reason)"}"#
            #expect(metrics.contains("\(name) \(count)"), "\(reason)")
        }
        let trace = String(
            decoding: try await rig.admin("/trace?event=\(taken[0].id)").body, as: UTF8.self)
        #expect(trace.contains("control_character") && !trace.contains(Self.long))
        #expect(!rig.log.all.contains { $0.contains(Self.long) || $0.contains("\u{1B}") })
        await rig.end()
    }
}
