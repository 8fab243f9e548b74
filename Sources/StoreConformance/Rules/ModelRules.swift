internal import SignalboxCore

extension StoreConformance {
    /// Compares the store with a model: under random calls, nothing is lost or doubled.
    static let modelRules: [StoreRule] = [UInt64(3), 11, 2_024].map { seed in
        StoreRule("random use and restarts lose nothing and double nothing, seed \(seed)") {
            probe in
            var model = StoreModel(probe: probe, random: SplitMix(state: seed))
            try await model.run(steps: 300)
        }
    }
}

/// What the queue should contain.
private struct StoreModel {
    let probe: StoreProbe
    var random: SplitMix
    var waiting: Set<UInt64> = []
    var dead: Set<UInt64> = []
    /// Nobody else can hold these since the last lease or restart.
    var held: Set<UInt64> = []

    mutating func run(steps: Int) async throws {
        let restarts = probe.engine.has(.durable) || probe.engine.has(.shared)
        var store = try await probe.open()
        var token = try await store.token()
        for _ in 0..<steps {
            switch random.next() % 8 {
            case 0, 1:
                let isTaken = random.next() % 2 == 0
                let ids = try await store.fill(Int(random.next() % 4) + 1, isTaken: isTaken)
                waiting.formUnion(ids)
                if isTaken { held.formUnion(ids) }
            case 2, 3, 4:
                let lease = try await store.lease(max: Int(random.next() % 7) + 1, forMs: 600_000)
                token = lease.token
                for delivery in lease.deliveries {
                    let isFree = held.insert(delivery.id).inserted
                    try probe.expect(isFree, "\(delivery.id) is leased while it is held")
                    try probe.expect(waiting.contains(delivery.id), "\(delivery.id) is back")
                }
            case 5, 6:
                var ends: [LeaseEnd] = []
                for id in held.sorted().prefix(Int(random.next() % 9)) { ends.append(end(id)) }
                try probe.equal(try await store.settle(ends, token), LeaseRefusal())
            default:
                await probe.advance(ms: random.next() % 700)
                guard restarts, random.next() % 2 == 0 else { continue }
                await store.store.close()
                store = try await probe.open()
                token = try await store.token()
                held = []
            }
            try probe.equal(store.store.waitingCount, waiting.count, "waiting")
        }
        await probe.advance(ms: 700_000)
        let all = try await store.leased(max: 100_000)
        try probe.equal(Set(all), waiting, "in the end")
        try probe.equal(all.count, waiting.count, "each once:")
        let letters = try await store.store.deadLetters(DeadFilter(), fromID: 0, limit: 100_000)
        try probe.equal(Set(letters.map(\.id)), dead, "dead letters")
        await store.store.close()
    }

    private mutating func end(_ id: UInt64) -> LeaseEnd {
        held.remove(id)
        switch random.next() % 4 {
        case 0:
            return .retry(
                id, afterMs: random.next() % 900, Session.attempt(),
                isFree: random.next() % 2 == 0)
        case 1: return .released(id)
        case 2:
            waiting.remove(id)
            dead.insert(id)
            return .dead(id, reason: "x", Session.attempt())
        default:
            waiting.remove(id)
            return .delivered(id)
        }
    }
}

private struct SplitMix {
    var state: UInt64

    mutating func next() -> UInt64 {
        state &+= 0x9e37_79b9_7f4a_7c15
        var z = state
        z = (z ^ (z >> 30)) &* 0xbf58_476d_1ce4_e5b9
        z = (z ^ (z >> 27)) &* 0x94d0_49bb_1331_11eb
        return z ^ (z >> 31)
    }
}
