import Foundation
import PluginRig
import Signalbox
import SignalboxCore
import SignalboxSimulators
import Synchronization
import Testing

/// How long an event counts as a duplicate: instance, plugin and gateway decide, in this order.
@Suite struct DedupeTests {
    /// A clock that only moves on request.
    private final class StillClock: Sendable {
        private let time = Mutex(UInt64(Date().timeIntervalSince1970 * 1000))
        var now: UInt64 { time.withLock { $0 } }
        func advance(ms: UInt64) { time.withLock { $0 += ms } }
    }

    /// The settings in gateway.yaml, the delay of the second event, and the window that drops it.
    ///
    /// Without a window it is sent.
    struct Case: Sendable, CustomTestStringConvertible {
        var instance = ""
        var gateway = ""
        var afterMs: UInt64
        var window: String?
        var testDescription: String { "\(instance) \(gateway) \(afterMs) ms" }

        static let all = [
            Case(afterMs: 4_999, window: "5s"), Case(afterMs: 5_000),
            Case(gateway: "dedupe: 1h", afterMs: 4_999, window: "5s"),
            Case(gateway: "dedupe: 1h", afterMs: 5_000),
            Case(instance: "dedupe: 90s,", afterMs: 89_999, window: "90s"),
            Case(instance: "dedupe: 90s,", afterMs: 90_000),
            Case(instance: "dedupe: 0s,", gateway: "dedupe: 1h", afterMs: 0),
        ]
    }

    @Test(arguments: Case.all)
    func `an equal reply is another one after its window`(given: Case) async throws {
        let clock = StillClock()
        let rig = try await GatewayRig(
            clock: { clock.now },
            config: {
                (GatewayRig.plugins($0) + "\n" + GatewayRig.routes)
                    .replacing("z: { library", with: "z: { \(given.instance) library")
                    .replacing("drain: 5s", with: "drain: 5s, \(given.gateway)")
            })
        let body = GatewayRig.webhook([("ios", "a")])
        #expect(try await rig.post(body).status == 200)
        clock.advance(ms: given.afterMs)
        #expect(try await rig.post(body).status == 200)
        let count = given.window == nil ? 2 : 1
        #expect(await rig.delivered(rig.simulators.apns, count).count == count)
        await rig.gateway.stop()
        #expect(rig.simulators.apns.received.count == count)
        // The key of a reply without an id is a digest, and the event has an id of its own.
        let lines = rig.log.all.filter { $0.contains("event is a duplicate") }.map { line in
            line.split(separator: " ").filter {
                !$0.hasPrefix("event.id=") && !$0.hasPrefix("event.source_id=")
            }.joined(separator: " ")
        }
        let expected = given.window.map {
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
        let file = rig.folder.appending(path: "gateway.yaml")
        let text = try String(contentsOf: file, encoding: .utf8)
        try text.replacing("z: { library", with: "z: { dedupe: 0s, library").write(
            to: file, atomically: true, encoding: .utf8)
        _ = try await rig.gateway.reload()
        #expect(try await rig.post(body).status == 200)
        #expect(await rig.delivered(rig.simulators.apns, 2) == ["a", "a"])
        await rig.end()
    }
}
