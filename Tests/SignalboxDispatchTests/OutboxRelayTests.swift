import SignalboxCore
import Testing

@testable import SignalboxDispatch

/// How reports of devices enter the queue.
@Suite struct OutboxRelayTests {
    /// Otherwise a registration that is accepted late ends the removal that follows it, and nobody is told of that.
    @Test func `of two reports of a device the later one is the newer one`() throws {
        let world = SimWorld(seed: 4, lanes: 1)
        let gateway = world.gateways[0]
        let device = Device(app: "shop", platform: "ios", token: "0a1b", user: "first")
        func queued(_ kind: DeviceChange.Kind, _ id: UInt64, atMs now: UInt64) throws -> Delivery {
            let change = DeviceChange(kind: kind, device: device, timeUnixMs: now)
            world.clock.pass(ms: now)
            let relay = OutboxRelay(
                SimOutbox(gateway: gateway, process: SimProcess(world.clock, 9)))
            let entry = relay.entry(
                of: [OutboxEntry(id: id, report: DeviceReport(to: "crm", change, eventID: 0))],
                DeliveryIDs(last: id, stableIDs: StableIDs(seed: (1, id))))
            #expect(entry.receivedUnixMs == world.clock.now.unixMs)
            return try #require(entry.items.first?.deliveries.first)
        }
        // What the queue lends has the time at which it was received.
        var registration = try queued(.registered, 1, atMs: 1_000)
        registration.setAccepted(world.clock.now.unixMs)
        let removal = try queued(.unregistered, 2, atMs: 2_000)
        #expect(registration.supersession?.shown == removal.supersession?.shown)
        #expect(registration.order < removal.order)
    }
}
