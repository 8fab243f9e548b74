import Foundation
import PluginRig
import Signalbox
import SignalboxCore
import SignalboxSimulators
import Testing

/// How long an event counts as a duplicate: instance, plugin and gateway decide, in this order.
@Suite struct DedupeTests {
    /// The settings in gateway.yaml, the delay of the second event, and the window that drops it; without one it is sent.
    @Test(
        arguments: [
            ("", "dedupe: 1h", 4_999, "5s"), ("", "dedupe: 1h", 5_000, nil),
            ("dedupe: 90s,", "dedupe: 1h", 89_999, "90s"),
        ] as [(String, String, UInt64, String?)])
    func `an equal reply is another one after its window`(
        instance: String, gateway: String, afterMs: UInt64, window: String?
    ) async throws {
        let clock = StillClock()
        let rig = try await GatewayRig(
            clock: { clock.now },
            config: {
                GatewayRig.yaml($0)
                    .replacing("z: { library", with: "z: { \(instance) library")
                    .replacing("drain: 5s", with: "drain: 5s, \(gateway)")
            })
        let body = GatewayRig.webhook([("ios", "a")])
        #expect(try await rig.post(body).status == 200)
        clock.advance(ms: afterMs)
        #expect(try await rig.post(body).status == 200)
        let count = window == nil ? 2 : 1
        #expect(await rig.delivered(rig.simulators.apns, count).count == count)
        await rig.gateway.stop()
        #expect(rig.simulators.apns.received.count == count)
        // The key of a reply without an id is a digest, and the event has an id of its own.
        let lines = rig.log.all.filter { $0.contains("event is a duplicate") }.map { line in
            line.split(separator: " ").filter {
                !$0.hasPrefix("event.id=") && !$0.hasPrefix("event.source_id=")
            }.joined(separator: " ")
        }
        let expected = window.map {
            "info event is a duplicate within \($0), left out event.subject=ticket/5 "
                + "event.type=ticket.replied plugin.instance=z"
        }
        #expect(lines == (expected.map { [$0] } ?? []))
        await rig.end()
    }

    @Test func `a reload changes the window of an instance that stays`() async throws {
        let rig = try await GatewayRig()
        let body = GatewayRig.webhook([("ios", "a")])
        #expect(try await rig.post(body).status == 200)
        let file = rig.file
        let text = try rig.text
        try text.replacing("z: { library", with: "z: { dedupe: 0s, library").write(
            to: file, atomically: true, encoding: .utf8)
        _ = try await rig.gateway.reload()
        #expect(try await rig.post(body).status == 200)
        #expect(await rig.delivered(rig.simulators.apns, 2) == ["a", "a"])
        await rig.end()
    }
}
