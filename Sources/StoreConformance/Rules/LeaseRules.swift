internal import SignalboxCore

extension StoreConformance {
    /// Who holds a delivery, and for how long.
    static let leaseRules: [StoreRule] = [
        StoreRule("a lease that ran out is given back") { probe in
            let store = try await probe.open()
            let ids = try await store.fill(2)
            _ = try await store.lease(max: 1, forMs: 5_000)
            let lease = try await store.lease(max: 1, forMs: 9_000)
            let early = try await store.lease()
            try probe.equal(early.deliveries.map(\.id), [])
            let wait = early.nextDueInMs ?? 0
            // A delivery that shares storage with a longer lease may wait for that lease.
            try probe.expect((1...9_000).contains(wait), "due in \(wait) ms instead of 5,000")
            await probe.advance(ms: 9_000)
            try probe.equal(Set(try await store.leased()), Set(ids))
            // The same owner leased it again, so its outcome still counts.
            try probe.equal(
                try await store.settle([.delivered(ids[0])], lease.token), LeaseRefusal())
            await store.store.close()
        },
        StoreRule("a lease that is extended is not given back") { probe in
            let store = try await probe.open()
            let fresh = try await store.fill(2)
            let token = try await store.lease(forMs: 4_000).token
            // A delivery that was tried, which an engine may store elsewhere.
            try await store.settle(
                [.retry(fresh[1], afterMs: 0, Session.attempt(), isFree: false)], token)
            _ = try await store.lease(forMs: 4_000)
            await probe.advance(ms: 3_000)
            try probe.equal(try await store.extend(fresh, token, forMs: 9_000), LeaseRefusal())
            await probe.advance(ms: 8_000)
            try probe.equal(try await store.leased(), [], "given back before its time")
            await probe.advance(ms: 1_000)
            try probe.equal(Set(try await store.leased()), Set(fresh))
            await store.store.close()
        },
        StoreRule("what is not in the queue any more is named, the rest is done") { probe in
            let store = try await probe.open()
            let ids = try await store.fill(3)
            let token = try await store.lease().token
            try await store.settle([.delivered(ids[0])], token)
            let again: [LeaseEnd] = [
                .delivered(ids[0]), .released(ids[0]),
                .retry(ids[0], afterMs: 0, Session.attempt(), isFree: false),
                .dead(ids[0], reason: "x", Session.attempt()),
            ]
            for end in again {
                try probe.equal(try await store.settle([end], token).lost, [ids[0]], "\(end):")
            }
            try probe.equal(
                try await store.settle([.delivered(ids[0]), .delivered(ids[1])], token).lost,
                [ids[0]])
            try probe.equal(
                try await store.extend(ids, token, forMs: 9_000).lost, [ids[0], ids[1]])
            try probe.equal(store.store.waitingCount, 1, "waiting")
            await store.store.close()
        },
        StoreRule("a new life of an owner takes back what the previous one held, and fences it") {
            probe in
            let store = try await probe.open()
            let ids = try await store.fill(3, isTaken: true)
            let waiting = try await store.fill(1)
            let old = try await store.token()
            try await store.settle([.delivered(ids[1])], old)
            await store.store.close()
            let next = try await probe.open()
            let new = try await next.token()
            try probe.expect(
                new.owner == old.owner && new.epoch > old.epoch,
                "\(new) is not a later life of \(old)")
            if probe.engine.has(.durable) || probe.engine.has(.shared) {
                try probe.equal(next.store.waitingCount, 3, "waiting")
                try probe.equal(
                    try await next.settle(
                        [.delivered(ids[0])], old, outcomes: Session.pack([ids[0]])), .fenced)
                try probe.equal(try await next.extend([ids[0]], old, forMs: 9_000), .fenced)
                try probe.equal(
                    next.store.nextOutcome, 1, "outcomes of a fenced settlement: next is")
                try probe.equal(Set(try await next.leased()), Set([ids[0], ids[2]] + waiting))
            }
            await next.store.close()
        },
    ]

    /// Several owners at once.
    static let sharedRules: [StoreRule] = [
        StoreRule("an owner settles and extends nothing of another's", only: .shared) { probe in
            let (one, two) = (try await probe.open("one"), try await probe.open("two"))
            let ids = try await one.fill(2)
            let mine = try await one.lease(max: 1)
            // An owner's clock may lag behind the store's.
            await probe.advance(ms: 1_000)
            let other = try await two.lease()
            try probe.equal(other.deliveries.map(\.id), [ids[1]], "the rest")
            let ends: [LeaseEnd] = [
                .delivered(ids[0]), .released(ids[0]),
                .retry(ids[0], afterMs: 0, Session.attempt(), isFree: false),
                .dead(ids[0], reason: "x", Session.attempt()),
            ]
            for end in ends {
                try probe.equal(try await two.settle([end], other.token).lost, [ids[0]], "\(end):")
            }
            try probe.equal(try await two.extend(ids, other.token, forMs: 9).lost, [ids[0]])
            try probe.expect(
                try await two.settle([.delivered(ids[0])], mine.token).isFenced,
                "a store takes another owner's token")
            try probe.equal(try await one.settle([.delivered(ids[0])], mine.token), LeaseRefusal())
            await one.store.close()
            await two.store.close()
        },
        StoreRule("what was taken over is refused to who held it before", only: .shared) { probe in
            let (one, two) = (try await probe.open("one"), try await probe.open("two"))
            let ids = try await one.fill(2)
            let mine = try await one.lease(forMs: 5_000)
            // An owner's clock may lag behind the store's.
            await probe.advance(ms: 10_000)
            let other = try await two.lease(max: 1)
            let taken = other.deliveries.map(\.id)
            try probe.equal(taken.count, 1, "taken over")
            try probe.equal(try await one.extend(ids, mine.token, forMs: 9_000).lost, taken)
            let refusal = try await one.settle(ids.map { .delivered($0) }, mine.token)
            try probe.equal(refusal.lost, taken)
            try probe.equal(
                try await two.settle([.delivered(taken[0])], other.token), LeaseRefusal())
            _ = try await one.waitingLanes()
            try probe.equal(one.store.waitingCount, 0, "waiting, after a look at the lanes")
            await one.store.close()
            await two.store.close()
        },
        StoreRule("a start takes back nothing of other owners", only: .shared) { probe in
            let one = try await probe.open("one")
            let two = try await probe.open("two")
            let ids = try await one.fill(2)
            let mine = try await one.lease(max: 1)
            // An owner's clock may lag behind the store's.
            await probe.advance(ms: 1_000)
            let other = try await two.lease()
            let again = try await probe.open("two")
            try probe.equal(try await again.leased(), [ids[1]])
            try probe.equal(try await two.settle([.delivered(ids[1])], other.token), .fenced)
            try probe.equal(try await one.settle([.delivered(ids[0])], mine.token), LeaseRefusal())
            for store in [one, two, again] { await store.store.close() }
        },
        StoreRule("who watches is told of what another owner releases", only: .shared) { probe in
            let (one, two) = (try await probe.open("one"), try await probe.open("two"))
            let lane = LaneKey(sender: "fcm", app: "b")
            try await one.fill(2, lane)
            let mine = try await one.lease(lane)
            let (lanes, tell) = AsyncStream.makeStream(of: [LaneKey].self)
            two.store.watch { tell.yield($0) }
            try await one.settle(mine.deliveries.map { .released($0.id) }, mine.token)
            try probe.equal(await lanes.first { _ in true }, [lane])
            // An owner's clock may lag behind the store's.
            await probe.advance(ms: 1_000)
            try probe.equal(try await two.leased(lane).count, 2, "leased")
            await one.store.close()
            await two.store.close()
        },
        StoreRule("a key is taken once, whoever is asked first", only: .shared) { probe in
            let stores = [try await probe.open("one"), try await probe.open("two")]
            let ids = try await stores[0].ids(40)
            // Each key is given to both at once.
            let taken = try await withThrowingTaskGroup(of: Int.self) { group in
                for (index, id) in ids.enumerated() {
                    group.addTask {
                        let item = Session.item([Session.delivery(id)], key: "k\(index / 2)")
                        let commit = try await stores[index % 2].commit([item], dedupeMs: 60_000)
                        return commit.duplicates.isEmpty ? 1 : 0
                    }
                }
                return try await group.reduce(0, +)
            }
            try probe.equal(taken, 20, "taken")
            _ = try await stores[0].waitingLanes()
            try probe.equal(stores[0].store.waitingCount, 20, "waiting")
            for store in stores { await store.store.close() }
        },
        StoreRule("work of an owner that is gone is taken over after its leases", only: .shared) {
            probe in
            let (one, two) = (try await probe.open("one"), try await probe.open("two"))
            let fresh = try await one.fill(3)
            let token = try await one.lease(forMs: 5_000).token
            // One that was tried, which an engine may keep elsewhere.
            try await one.settle(
                [.retry(fresh[2], afterMs: 0, Session.attempt(), isFree: false)], token)
            _ = try await one.lease(forMs: 5_000)
            try await probe.engine.crash(one.store)
            let early = try await two.lease()
            try probe.equal(early.deliveries.map(\.id), [], "before the leases end")
            let wait = early.nextDueInMs ?? 0
            try probe.expect((1...5_000).contains(wait), "due in \(wait) ms instead of 5,000")
            // An owner's clock may lag behind the store's.
            await probe.advance(ms: 6_000)
            try probe.equal(try await two.waitingLanes(), [Session.lane])
            let late = try await two.lease()
            try probe.equal(Set(late.deliveries.map(\.id)), Set(fresh))
            try probe.equal(
                try await two.settle(fresh.map { .delivered($0) }, late.token), LeaseRefusal())
            await two.store.close()
        },
        StoreRule("the fleet says who holds how much, and what waits", only: .shared) { probe in
            let (one, two) = (try await probe.open("one"), try await probe.open("two"))
            let ids = try await one.fill(3)
            // An owner's clock may lag behind the store's.
            await probe.advance(ms: 1_000)
            let lease = try await two.lease(max: 1)
            let fleet = try await one.store.fleet()
            try probe.equal(fleet.members.map(\.name), ["one", "two"])
            try probe.equal(fleet.members.map(\.leased), [0, 1], "leased")
            try probe.equal(fleet.members.map { fleet.state(of: $0) }, [.live, .live])
            try probe.equal(fleet.backlogs.map(\.lane), [Session.lane])
            try probe.equal(fleet.backlogs.map(\.waiting), [2], "waiting")
            try probe.equal(fleet.backlogs.map(\.leased), [1], "leased")
            try probe.expect(fleet.backlogs[0].oldestDueUnixMs != nil, "nothing is due")
            // The record of an attempt names who made it.
            let end = LeaseEnd.dead(lease.deliveries[0].id, reason: "x", Session.attempt())
            try await two.settle([end], lease.token)
            let letters = try await one.store.deadLetters(DeadFilter(), fromID: 0, limit: 9)
            try probe.equal(letters.map(\.id), [ids[0]])
            try probe.equal(letters.flatMap(\.attempts).map(\.owner), ["two"])
        },
        StoreRule("many owners lease each delivery once", only: .shared) { probe in
            var stores: [Session] = []
            for number in 0..<4 { stores.append(try await probe.open("owner \(number)")) }
            let ids = try await stores[0].fill(300)
            let leased = try await withThrowingTaskGroup(of: [UInt64].self) { group in
                for store in stores {
                    group.addTask {
                        var own: [UInt64] = []
                        while true {
                            let lease = try await store.lease(max: 17)
                            own += lease.deliveries.map(\.id)
                            guard lease.deliveries.isEmpty, !lease.hasMore else { continue }
                            return own
                        }
                    }
                }
                return try await group.reduce([], +)
            }
            try probe.equal(leased.count, ids.count, "leases")
            try probe.equal(Set(leased), Set(ids))
            for store in stores { await store.store.close() }
        },
        StoreRule("an owner that another life has replaced stores nothing", only: .shared) {
            probe in
            let old = try await probe.open("one")
            let ids = try await old.ids(1)
            let new = try await probe.open("one")
            let answer = await old.append([Session.item([Session.delivery(ids[0])])])
            if case .committed = answer {
                throw StoreFinding(rule: probe.rule, detail: "append: \(answer)")
            }
            try probe.equal(try await new.leased(), [])
            for store in [old, new] { await store.store.close() }
        },
        StoreRule("who watches is told of the work of others", only: .shared) { probe in
            let (one, two) = (try await probe.open("one"), try await probe.open("two"))
            let (lanes, tell) = AsyncStream.makeStream(of: [LaneKey].self)
            two.store.watch { tell.yield($0) }
            let lane = LaneKey(sender: "fcm", app: "b")
            try await one.fill(2, lane)
            try probe.equal(await lanes.first { _ in true }, [lane])
            await one.store.close()
            await two.store.close()
        },
    ]
}
