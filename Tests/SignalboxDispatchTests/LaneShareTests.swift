import SignalboxCore
import Testing

@testable import SignalboxDispatch

/// Several gateways on one store: an idle one takes over parts of another's backlog.
///
/// Each gateway is a lane with a provider that answers so many pushes a second. Time is virtual.
@Suite struct LaneShareTests {
    /// A store with the deliveries of one lane, and the gateways that use it.
    private struct Fleet {
        struct Gateway {
            var rig = LaneStateRig(inMemoryMax: 4_096)
            var perSecond: Int
            /// Handed to the provider's connection and not answered.
            var queue: [UInt64] = []
            var delivered: [UInt64] = []
        }

        var gateways: [Gateway]
        var disk: [Delivery] = []
        var ms: UInt64 = 0

        init(perSecond: [Int]) {
            gateways = perSecond.map { Gateway(perSecond: $0) }
            for index in gateways.indices { look(index) }
        }

        var delivered: Int { gateways.map(\.delivered.count).reduce(0, +) }

        /// An event arrives at the first gateway.
        mutating func submit(_ deliveries: [Delivery]) {
            let taken = gateways[0].rig.state.reserve(deliveries)
            store(deliveries.filter { !taken.contains($0.id) })
            let rig = gateways[0].rig
            perform(
                gateways[0].rig.state.committed(
                    deliveries.filter { taken.contains($0.id) }, under: rig.token,
                    askedMs: rig.now.steadyMs, isMoreOnDisk: taken.count < deliveries.count
                ).effects, 0)
        }

        /// Puts deliveries on disk, and tells all gateways.
        mutating func store(_ deliveries: [Delivery]) {
            guard !deliveries.isEmpty else { return }
            disk = (disk + deliveries).sorted {
                (rank($0), $0.id) < (rank($1), $1.id)
            }
            for index in gateways.indices { perform(gateways[index].rig.state.backlog(), index) }
        }

        /// A tenth of a second; returns the seconds so far.
        mutating func tick() {
            ms += 100
            for index in gateways.indices {
                gateways[index].rig.wait(ms: 100)
                let count = min(gateways[index].perSecond / 10, gateways[index].queue.count)
                let answered = Array(gateways[index].queue.prefix(count))
                gateways[index].queue.removeFirst(count)
                gateways[index].delivered += answered
                perform(gateways[index].rig.take(answered, .delivered, code: 200), index)
                if ms % 1_000 == 0 { look(index) }
                run(index)
            }
        }

        /// Ticks until all is delivered. Returns how many seconds that took, from the beginning.
        mutating func finish(_ count: Int) -> Double {
            while delivered < count, ms < 3_600_000 { tick() }
            return Double(ms) / 1_000
        }

        private mutating func look(_ index: Int) {
            let now = gateways[index].rig.now
            let effects = gateways[index].rig.state.tended(now, isShared: gateways.count > 1)
            if let wish = effects.extension {
                perform(gateways[index].rig.state.extended(wish, LeaseRefusal(), now), index)
            }
            perform(effects, index)
        }

        private mutating func run(_ index: Int) {
            let (sent, effects) = gateways[index].rig.run()
            gateways[index].queue += sent
            perform(effects, index)
        }

        private mutating func perform(_ effects: LaneEffects, _ index: Int) {
            let now = gateways[index].rig.now
            if effects.isWithdrawal {
                // All but those that are on their way.
                let back = Array(gateways[index].queue.dropFirst(10))
                gateways[index].queue = Array(gateways[index].queue.prefix(10))
                if !back.isEmpty {
                    let result = PushResult(items: back, fault: .withdrawn)
                    perform(gateways[index].rig.state.answered([result]), index)
                }
            }
            if !effects.endings.isEmpty {
                let stored = gateways[index].rig.state.stored(
                    effects.endings.map(\.end), wereLate: false, now)
                store(effects.endings.filter { $0.kind == .released }.map(\.delivery))
                perform(stored, index)
            }
            if let wish = effects.wish {
                var lease = StoreLease(token: gateways[index].rig.token)
                lease.deliveries = Array(disk.prefix(wish.max))
                disk.removeFirst(lease.deliveries.count)
                lease.hasMore = !disk.isEmpty
                perform(gateways[index].rig.state.leased(lease, wish, now), index)
            }
            if effects.isTurn { run(index) }
        }
    }

    private static func some(_ ids: ClosedRange<UInt64>, isHigh: Bool = false) -> [Delivery] {
        var note = PushNotification()
        note.priority = isHigh ? .high : .normal
        let content = SharedNotification(note, receivedUnixMs: 0)
        return ids.map { id in
            var made = delivery(id)
            made.content = content
            return made
        }
    }

    @Test func `a gateway that is alone takes what fits`() {
        var fleet = Fleet(perSecond: [100])
        fleet.submit(Self.some(1...10_000))
        #expect(fleet.gateways[0].rig.state.count == 4_096)
    }

    @Test(arguments: [2, 4])
    func `slow providers get their share of a fan-out that came to one gateway`(count: Int) {
        var fleet = Fleet(perSecond: Array(repeating: 100, count: count))
        fleet.submit(Self.some(1...10_000))
        let seconds = fleet.finish(10_000)
        let ideal = 10_000 / Double(100 * count)
        #expect(seconds < ideal * 1.25, "\(fleet.gateways.map(\.delivered.count))")
        for gateway in fleet.gateways {
            #expect(gateway.delivered.count > 10_000 / count * 3 / 4)
            #expect(Set(gateway.delivered).count == gateway.delivered.count)
        }
    }

    @Test func `a long backlog is shared by speed`() {
        var fleet = Fleet(perSecond: [50, 200, 1_000])
        fleet.store(Self.some(1...50_000))
        let seconds = fleet.finish(50_000)
        #expect(seconds < 40 * 1.25, "\(fleet.gateways.map(\.delivered.count))")
    }

    @Test func `a provider that becomes slow gives back what another gateway can send`() {
        var fleet = Fleet(perSecond: [1_000, 1_000])
        fleet.store(Self.some(1...20_000))
        while fleet.delivered < 4_000 { fleet.tick() }
        fleet.gateways[0].perSecond = 10
        let seconds = fleet.finish(20_000)
        // 2 s together, then 16,000 at 1,010 a second.
        #expect(seconds < 18 * 1.5, "\(fleet.gateways.map(\.delivered.count))")
    }

    @Test func `high priority overtakes the shares of all gateways`() {
        var fleet = Fleet(perSecond: [100, 100])
        fleet.submit(Self.some(1...10_000))
        while fleet.ms < 20_000 { fleet.tick() }
        fleet.submit(Self.some(20_001...20_100, isHigh: true))
        let start = fleet.ms
        func highCount() -> Int {
            fleet.gateways.flatMap(\.delivered).count { $0 > 20_000 }
        }
        while highCount() < 100, fleet.ms < start + 60_000 { fleet.tick() }
        // Behind what the connections have already: at most ten seconds.
        #expect(fleet.ms - start <= 12_000)
    }
}
