import SignalboxCore
import Testing

@testable import SignalboxGateway

/// How reports of devices enter the queue.
struct ReportRelayTests {
    /// Otherwise a registration that is accepted late ends the removal that follows it, and nobody is told of that.
    @Test func `of two reports of a device the later one is the newer one`() throws {
        let device = Device(app: "shop", platform: "ios", token: "0a1b", user: "first")
        func queued(_ kind: DeviceChange.Kind, _ id: UInt64, atMs now: UInt64) throws -> Delivery {
            let change = DeviceChange(kind: kind, device: device, timeUnixMs: now)
            let entry = ReportRelay.entry(
                of: [OutboxEntry(id: id, report: DeviceReport(to: "crm", change, eventID: 0))],
                DeliveryIDs(last: id, stableIDs: StableIDs(seed: (1, id))), nowUnixMs: now)
            #expect(entry.receivedUnixMs == now)
            return try #require(entry.items.first?.deliveries.first)
        }
        // What the queue lends has the time at which it was received.
        var registration = try queued(.registered, 1, atMs: 1_000)
        registration.setAccepted(1_000)
        let removal = try queued(.unregistered, 2, atMs: 2_000)
        #expect(registration.supersession?.shown == removal.supersession?.shown)
        #expect(registration.order < removal.order)
    }
}
