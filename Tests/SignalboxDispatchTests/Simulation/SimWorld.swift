import SignalboxCore
import Synchronization

@testable import SignalboxDispatch

/// A store, providers, and one or two gateways that share them.
final class SimWorld: Sendable {
    let clock: SimClock
    let store: SimStore
    /// Those of pushes, and the one that is told of changes of devices.
    let providers: [SimProvider]
    private let pushers: [SimProvider]
    let reportee: SimProvider
    let gateways: [SimGateway]
    let source: SimSource

    init(seed: UInt64, lanes: Int, collapses: Bool = false) {
        let clock = SimClock(seed: seed)
        let store = SimStore(clock: clock, isOrdered: seed % 2 == 0)
        // Two apps per sender.
        let pushers = (0..<lanes).map {
            SimProvider(LaneKey(sender: "s\($0 / 2)", app: "a\($0)"))
        }
        let reportee = SimProvider(LaneKey(sender: SimStore.reportee, app: "a0", kind: .report))
        let providers = pushers + [reportee]
        (self.pushers, self.reportee) = (pushers, reportee)
        source = SimSource(clock, store, collapses: collapses)
        let count = seed % 4 < 2 ? 1 : 2
        (self.clock, self.store, self.providers) = (clock, store, providers)
        gateways = (1...count).map {
            SimGateway($0, clock: clock, store: store, providers: providers, isShared: count > 1)
        }
    }

    var lanes: [Lane] { gateways.flatMap(\.lanes) }
    var anyGateway: SimGateway { gateways[Int(clock.dice(UInt64(gateways.count)))] }
    var anyProvider: SimProvider { pushers[Int(clock.dice(UInt64(pushers.count)))] }

    /// How often each delivery was recorded as ended, by any gateway.
    var finals: [UInt64: Int] {
        gateways.reduce(into: [:]) { $0.merge($1.finals) { $0 + $1 } }
    }

    /// Sends an event for devices of one lane, and at times of others.
    func submit(to provider: SimProvider) { source.send(to: provider, by: self) }
}
