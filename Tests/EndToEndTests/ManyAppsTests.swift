import Foundation
import PluginRig
import Signalbox
import SignalboxCore
import SignalboxHTTP
import SignalboxJSON
import SignalboxSimulators
import Testing

/// Apps come from events, so whoever sends events could have a connection for each name that they invent.
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
        let tokens = (1...200).map { "t\($0)" }
        let events = tokens.map { token in
            let device = Device(app: "com.example.\(token)", platform: "android", token: token)
            return Event(
                type: "hello", data: #"{"title":"Hello"}"#, recipients: [Recipient(device: device)])
        }
        _ = try await rig.gateway.submit(events, from: "program")
        var most = 0
        var isSaid = false
        while Set(rig.simulators.fcm.received.map(\.token)) != Set(tokens) {
            let ready = try JSONValue.parse(try await rig.admin("/readyz").body)
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
            let page = String(decoding: try await rig.admin("/metrics").body, as: UTF8.self)
            left = page.split(separator: "\n").count {
                $0.hasPrefix("signalbox_leases_lost_total") && $0.contains("com.example.t")
            }
            try await Task.sleep(for: .milliseconds(50))
        } while left > 16
        await rig.end()
    }

    /// What an event has too much of, and the words that its source gets.
    @Test func `an event names at most 100 apps, and no name is long`() async throws {
        let rig = try await GatewayRig(config: Self.config)
        func event(_ devices: [Device]) -> Event {
            Event(
                type: "hello", data: #"{"title":"Hello"}"#,
                recipients: devices.map { Recipient(device: $0) })
        }
        func apps(_ count: Int) -> [Device] {
            (1...count).map { Device(app: "a\($0)", platform: "android", token: "t\($0)") }
        }
        let long = String(repeating: "n", count: 257)
        let named = [
            Device(app: long, platform: "ios", token: "t"), Device(platform: long, token: "t"),
            Device(platform: "ios", provider: long, token: "t"),
        ]
        let cases =
            [(apps(101) + apps(101), "devices of over 100 apps")]
            + named.map { ([$0], "of 257 bytes; at most 256") }
        for (devices, words) in cases {
            await #expect {
                _ = try await rig.gateway.submit([event(devices)], from: "program")
            } throws: { error in
                let fault = error as? SubmitError
                return fault?.kind == .tooLarge && fault?.message.contains(words) == true
            }
        }
        for device in [
            Device(app: "a\u{1B}[2J", platform: "ios", token: "t"),
            Device(platform: "ios\n", token: "t"),
            Device(platform: "ios", token: "t", user: "u\u{7F}"),
        ] {
            await #expect {
                _ = try await rig.gateway.submit([event([device])], from: "program")
            } throws: { error in
                let fault = error as? SubmitError
                return fault?.kind == .invalid
                    && fault?.message.contains("with a control character") == true
            }
        }
        #expect(!rig.log.all.contains { $0.contains(long) })
        for (result, count) in [
            ("too_many_apps", 1), ("name_too_long", 3), ("control_character", 3),
        ] {
            #expect(
                rig.gateway.metricsText.contains(
                    #"signalbox_events_total{source="program",result="\#(result)"} \#(count)"#))
        }
        _ = try await rig.gateway.submit([event(apps(100) + apps(100))], from: "program")
        await rig.end()
    }
}
