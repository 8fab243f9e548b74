import Foundation
import PluginRig
import SignalboxCore
import SignalboxSimulators
import StoreConformance
import Testing

/// Two gateways on one store.
@Suite struct SharedStoreTests {
    private static func gateway(_ owner: String, _ storage: MemoryStorage) async throws
        -> GatewayRig
    {
        try await GatewayRig(
            change: { $0.store = storage.open(owner: owner) },
            config: { simulators in
                (GatewayRig.plugins(simulators) + "\n" + GatewayRig.routes)
                    .replacing("drain: 5s", with: "drain: 0s, name: \(owner)")
            })
    }

    @Test func `what a gateway gives back when it stops is sent by another one`() async throws {
        let storage = MemoryStorage(
            .init(nowUnixMs: { UInt64(Date().timeIntervalSince1970 * 1_000) }))
        let one = try await Self.gateway("one", storage)
        let two = try await Self.gateway("two", storage)
        // The first push gets no answer, and the others wait behind it.
        try await one.simulators.apns.take(.streams(max: 1))
        try await one.simulators.apns.take(.stall(count: 100))
        for token in ["a", "b", "c", "d"] {
            #expect(try await one.post(GatewayRig.webhook([("ios", token)])).status == 200)
        }
        let stalled = await one.simulators.apns.wait(for: 1).map(\.token)
        await one.gateway.stop()
        var sent = await two.delivered(two.simulators.apns, 3)
        // The fate of the one that was in flight is unknown, so it is tried again, too.
        if !Set(sent).isDisjoint(with: stalled) {
            sent = await two.delivered(two.simulators.apns, 4)
        }
        #expect(Set(sent).union(stalled) == ["a", "b", "c", "d"])
        await one.end()
        await two.end()
    }
}
