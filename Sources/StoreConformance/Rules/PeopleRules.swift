internal import SignalboxCore

extension StoreConformance {
    /// What a store knows about one user, and how long dead letters are kept.
    static let peopleRules: [StoreRule] = [
        StoreRule("dead letters that are too old or too many are removed, the oldest first") {
            probe in
            let store = try await probe.open()
            let ids = try await store.fill(4)
            let token = try await store.lease().token
            // The first delivery is the last to die.
            let ends = ids.enumerated().map { place, id in
                var attempt = Session.attempt()
                attempt.unixMs = 5_000 - UInt64(place)
                return LeaseEnd.dead(id, reason: "x", attempt)
            }
            try await store.settle(ends, token)
            let dead = store.store
            try probe.equal(
                try await dead.trimDead(DeadLimits(keepMs: .max, countMax: 4), max: 9),
                DeadTrim(old: 0, surplus: 0))
            try probe.equal(
                try await dead.trimDead(DeadLimits(keepMs: .max, countMax: 2), max: 1),
                DeadTrim(old: 0, surplus: 1))
            try probe.equal(
                try await dead.trimDead(DeadLimits(keepMs: .max, countMax: 2), max: 9),
                DeadTrim(old: 0, surplus: 1))
            let left = try await dead.deadLetters(DeadFilter(), fromID: 0, limit: 9)
            try probe.equal(left.map(\.id), Array(ids.prefix(2)))
            await probe.advance(ms: 1_000_000)
            try probe.equal(
                try await dead.trimDead(DeadLimits(keepMs: 900_000), max: 1),
                DeadTrim(old: 1, surplus: 0))
            let last = try await dead.deadLetters(DeadFilter(), fromID: 0, limit: 9)
            try probe.equal(last.map(\.id), [ids[0]])
            try probe.equal(
                try await dead.trimDead(DeadLimits(keepMs: 900_000), max: 9),
                DeadTrim(old: 1, surplus: 0))
            await store.store.close()
        },
        StoreRule("dead letters of one user are found, whatever else has the name in it") { probe in
            let store = try await probe.open()
            let ids = try await store.ids(4)
            let users = [("ann", "a"), ("joanna", "a"), ("ann", "b"), ("bob", "ann")]
            try await store.commit(
                zip(ids, users).map { id, user in
                    Session.item([Session.delivery(id, to: user.0, app: user.1)])
                })
            for app in ["a", "b", "ann"] {
                let lease = try await store.lease(LaneKey(sender: "apns", app: app))
                try await store.settle(
                    lease.deliveries.map { .dead($0.id, reason: "x", Session.attempt()) },
                    lease.token)
            }
            var ann = DeadFilter()
            ann.user = "ann"
            try probe.equal(try await store.store.deadCount(ann), 2)
            let found = try await store.store.deadLetters(ann, fromID: 0, limit: 1)
            try probe.equal(found.map(\.id), [ids[0]])
            ann.app = "b"
            try probe.equal(
                try await store.store.deadLetters(ann, fromID: 0, limit: 9).map(\.id), [ids[2]])
            ann.app = nil
            let part = try await store.store.purge(ann, fromID: 0, limit: 9)
            try probe.equal(part, DeadPart(count: 2, nextID: nil))
            let left = try await store.store.deadLetters(DeadFilter(), fromID: 0, limit: 9)
            try probe.equal(left.map(\.id), [ids[1], ids[3]])
            await store.store.close()
        },
        StoreRule("badge counters of one user are found, in one app or all") { probe in
            let store = try await probe.open()
            for (user, app) in [("ann", "a"), ("ann", "b"), ("bob", "a")] {
                let device = Device(app: app, platform: "ios", token: "\(user)-\(app)", user: user)
                _ = try await store.store.register(device, isUnique: true)
                _ = try await store.store.setBadge(7, of: UserKey(app: app, user: user))
            }
            try probe.equal(
                try await store.store.badges(of: UserKey(app: "", user: "ann")),
                [UserKey(app: "a", user: "ann"): 7, UserKey(app: "b", user: "ann"): 7])
            try probe.equal(
                try await store.store.badges(of: UserKey(app: "b", user: "ann")),
                [UserKey(app: "b", user: "ann"): 7])
            try probe.equal(try await store.store.badges(of: UserKey(app: "", user: "eve")), [:])
            await store.store.close()
        },
        StoreRule("deliveries of one user that are not settled are found, held or not") { probe in
            let store = try await probe.open()
            let ids = try await store.ids(5)
            let users = ["ann", "joanna", "ann", "ann", "ann"]
            try await store.commit(
                zip(ids, users).map { id, user in
                    // Different events, so that blocks have several contents.
                    Session.item(
                        [Session.delivery(id, to: user, app: "a")],
                        taken: id == ids[3] ? [id] : [])
                })
            let lane = LaneKey(sender: "apns", app: "a")
            let lease = try await store.lease(lane, max: 9)
            let isLeased = { (id: UInt64) in lease.deliveries.contains { $0.id == id } }
            try probe.expect(isLeased(ids[0]) && isLeased(ids[2]), "leases \(lease.deliveries)")
            try await store.settle(
                [
                    .delivered(ids[2]),
                    .retry(ids[0], afterMs: 60_000, Session.attempt(), isFree: false),
                ], lease.token)
            try probe.equal(
                try await store.waiting(of: UserKey(app: "", user: "ann")),
                [ids[0], ids[3], ids[4]])
            try probe.equal(
                try await store.waiting(of: UserKey(app: "a", user: "joanna")), [ids[1]])
            try probe.equal(try await store.waiting(of: UserKey(app: "b", user: "ann")), [])
            await store.store.close()
        },
        StoreRule("a user is taken out of history, and others stay") { probe in
            let store = try await probe.open()
            store.store.keepHistory(HistoryLimits())
            let ids = try await store.ids(3)
            // Of ann alone, of both, of bob alone.
            let users = [["ann"], ["ann", "bob"], ["bob"]]
            for (id, names) in zip(ids, users) {
                try await store.commit([Session.item(id, noted: names)])
                var pack = OutcomePack()
                for (place, name) in names.enumerated() {
                    let delivery = Session.delivery(id * 10 + UInt64(place), to: name, app: "")
                    pack.history.add(
                        HistoryStep(.delivered, eventID: id, delivery: delivery.id, unixMs: 5_000),
                        of: delivery)
                }
                try await store.store.append(pack)
            }
            var ann = HistoryPerson(UserKey(app: "", user: "ann"), tokens: [])
            let rows = try await store.rows(HistorySearch(ann.tags))
            for row in rows { ann.learn(row) }
            try probe.equal(ann.eventCount, 2)
            let person = ann
            var search = HistorySearch(person.tags)
            repeat {
                search.cursor = try await store.store.changeHistory(search) { person.without($0) }
            } while search.cursor != nil
            try probe.equal(try await store.rows(HistorySearch(person.tags)).count, 0, "ann's rows")
            let left = try await store.rows(HistorySearch([.subject("subject")])).map { $0.read() }
            let events = left.flatMap(\.events).sorted { $0.id < $1.id }
            try probe.equal(events.map(\.id), [ids[1], ids[2]])
            try probe.equal(events.map { $0.targets.map(\.user) }, [["bob"], ["bob"]])
            let steps = left.flatMap(\.steps).map(\.delivery).sorted()
            try probe.equal(steps, [ids[1] * 10 + 1, ids[2] * 10])
            await store.store.close()
        },
    ]
}

extension Session {
    fileprivate static func delivery(_ id: UInt64, to user: String, app: String) -> Delivery {
        var out = delivery(id, LaneKey(sender: "apns", app: app))
        out.device.user = user
        return out
    }

    /// An event with these recipients.
    fileprivate static func item(_ id: UInt64, noted users: [String]) -> StoreEntry.Item {
        var item = item([delivery(id)])
        item.deliveries = []
        var event = HistoryEvent(item.event, receivedUnixMs: 1_000)
        event.targets = users.enumerated().map { place, user in
            HistoryTarget(delivery(id * 10 + UInt64(place), to: user, app: ""), route: 0)
        }
        item.history = HistoryPack(
            event, tags: [.event(id), .subject("subject")] + users.map { .user($0) })
        return item
    }

    fileprivate func waiting(of user: UserKey) async throws -> [UInt64] {
        var found: Set<UInt64> = []
        var place: String? = ""
        while let after = place {
            let part = try await store.waiting(of: user, after: after)
            found.formUnion(part.found.map(\.delivery.id))
            place = part.next
        }
        return found.sorted()
    }

    fileprivate func rows(_ search: HistorySearch) async throws -> [HistoryRow] {
        var (search, rows): (HistorySearch, [HistoryRow]) = (search, [])
        repeat {
            let page = try await store.history(search)
            rows += page.rows
            search.cursor = page.next
        } while search.cursor != nil
        return rows
    }
}
