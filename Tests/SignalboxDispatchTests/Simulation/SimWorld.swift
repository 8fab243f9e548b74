import SignalboxCore
import Synchronization

@testable import SignalboxDispatch

/// A store, providers, and one or two gateways that share them.
final class SimWorld: Sendable {
    let clock: SimClock
    let store: SimStore
    let providers: [SimProvider]
    let gateways: [SimGateway]
    private let nextID = Mutex<UInt64>(1)
    /// Whether all pushes of a lane are for one device and share a few collapse keys.
    private let collapses: Bool

    init(seed: UInt64, lanes: Int, collapses: Bool = false) {
        self.collapses = collapses
        let clock = SimClock(seed: seed)
        let store = SimStore(clock: clock, isOrdered: seed % 2 == 0)
        // Two apps per sender.
        let providers = (0..<lanes).map {
            SimProvider(LaneKey(sender: "s\($0 / 2)", app: "a\($0)"))
        }
        let count = seed % 4 < 2 ? 1 : 2
        (self.clock, self.store, self.providers) = (clock, store, providers)
        gateways = (1...count).map {
            SimGateway($0, clock: clock, store: store, providers: providers, isShared: count > 1)
        }
    }

    var lanes: [Lane] { gateways.flatMap(\.lanes) }
    var anyGateway: SimGateway { gateways[Int(clock.dice(UInt64(gateways.count)))] }
    var anyProvider: SimProvider { providers[Int(clock.dice(UInt64(providers.count)))] }

    /// How often each delivery was recorded as ended, by any gateway.
    var finals: [UInt64: Int] {
        gateways.reduce(into: [:]) { $0.merge($1.finals) { $0 + $1 } }
    }

    /// Submits an event with deliveries to one lane.
    func submit(to provider: SimProvider) {
        let count = 1 + clock.dice(6)
        let first = nextID.withLock { next in
            defer { next += count }
            return next
        }
        anyGateway.submit(
            (first..<first + count).map { delivery($0, provider.key) }, to: provider)
    }

    private func delivery(_ id: UInt64, _ key: LaneKey) -> Delivery {
        var note = PushNotification()
        note.priority = [.high, .normal, .low][Int(clock.dice(3))]
        let isBrief = clock.chance(0.1)
        if collapses { note.collapse = "k\(clock.dice(3))" }
        return Delivery(
            id: id, eventID: id, route: "r", sender: key.sender, stableID: "\(id)",
            deadlineUnixMs: isBrief ? clock.now.unixMs + 20_000 : 0,
            content: SharedNotification(
                note, receivedUnixMs: collapses ? clock.now.unixMs : 0),
            device: Device(app: key.app, token: collapses ? "t" : "t\(id)"))
    }
}
