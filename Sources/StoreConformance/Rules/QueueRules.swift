internal import SignalboxCore

extension StoreConformance {
    /// What is committed, and in which order it is leased.
    static let queueRules: [StoreRule] = [
        StoreRule("ids are given once, whoever asks") { probe in
            let store = try await probe.open()
            let first = try await store.ids(1_000)
            let second = try await store.ids(10)
            try probe.equal(Set(first + second).count, 1_010, "distinct ids")
            try probe.expect(!first.contains(0), "0 is no id")
            try probe.expect(
                (first + second).allSatisfy { $0 <= Int64.max }, "an id is over 63 bits")
            try await probe.engine.crash(store.store)
            let next = try await probe.open()
            let third = try await next.ids(1_000)
            if probe.engine.has(.durable) {
                try probe.expect(
                    Set(third).isDisjoint(with: first + second),
                    "ids were given again after a crash")
            }
            await next.store.close()
        },
        StoreRule("what was committed is leased as it was, once") { probe in
            let store = try await probe.open()
            let id = try await store.ids(1)[0]
            var note = PushNotification()
            note.title = "Title \u{1F600}"
            note.badge = 3
            note.priority = .high
            note.isDataOnly = true
            note.isWithdrawn = true
            note.data = #"{"a":1}"#
            note.overrides = [PayloadOverride(family: "apns", json: #"{"x":[]}"#)]
            var delivery = Session.delivery(id, LaneKey(sender: "apns", app: "com.example"))
            delivery.content = SharedNotification(
                note, eventType: "type", eventKey: "key", receivedUnixMs: 1_000)
            delivery.badge = 9
            delivery.deadlineUnixMs = 99_000
            delivery.device = Device(
                app: "com.example", platform: "ios", provider: "apns", token: "tok\"en",
                sourceToken: "<tok>", user: "u", locale: "de", registeredUnixMs: 5,
                attributes: [Attribute("k", "v")])
            try await store.commit([Session.item([delivery], key: "key")])
            try probe.equal(store.store.waitingCount, 1, "waiting")
            let lane = LaneKey(sender: "apns", app: "com.example")
            let lease = try await store.lease(lane)
            let found = lease.deliveries.first
            try probe.equal(lease.deliveries.count, 1, "leased")
            try probe.equal(found?.id, id)
            try probe.equal(found?.eventID, id)
            try probe.equal(found?.source, "source")
            try probe.equal(found?.subject, "subject")
            try probe.equal(found?.route, "route")
            try probe.equal(found?.stableID, "stable-\(id)")
            try probe.equal(found?.attempt, 1)
            try probe.equal(found?.badge, 9)
            try probe.equal(found?.deadlineUnixMs, 99_000)
            try probe.equal(found?.device, delivery.device)
            try probe.equal(found?.content.notification, note)
            try probe.equal(found?.content.eventType, "type")
            try probe.equal(found?.content.eventKey, "key")
            try probe.equal(found?.content.receivedUnixMs, 1_000)
            try probe.equal(try await store.leased(lane), [], "leased twice")
            await store.store.close()
        },
        StoreRule("high priority comes first, then the longest due, a part at a time") { probe in
            let store = try await probe.open()
            let low = try await store.fill(2, priority: .low)
            let normal = try await store.fill(3)
            let high = try await store.fill(1, priority: .high)
            let first = try await store.lease(max: 3)
            try probe.equal(first.deliveries.map(\.id), high + normal.prefix(2))
            try probe.expect(first.hasMore, "more are due, and the lease does not say so")
            let second = try await store.lease()
            try probe.equal(second.deliveries.map(\.id), normal.suffix(1) + low)
            try probe.expect(!second.hasMore, "nothing more is due, and the lease says so")
            await store.store.close()
        },
        StoreRule("what a lane takes over at once is held under the token of the commit") { probe in
            let store = try await probe.open()
            let ids = try await store.ids(2)
            let commit = try await store.commit([
                Session.item(ids.map { Session.delivery($0) }, taken: [ids[0]])
            ])
            try probe.equal(try await store.leased(), [ids[1]])
            let refusal = try await store.settle([.delivered(ids[0])], commit.token)
            try probe.equal(refusal, LeaseRefusal())
            try probe.equal(store.store.waitingCount, 1, "waiting")
            await store.store.close()
        },
        StoreRule("a lane is given its own deliveries alone, and lanes that wait are named") {
            probe in
            let store = try await probe.open()
            let lanes = [
                LaneKey(sender: "apns", app: ""), LaneKey(sender: "apns", app: "b"),
                LaneKey(sender: "fcm", app: ""),
            ]
            var ids: [[UInt64]] = []
            for lane in lanes { ids.append(try await store.fill(2, lane)) }
            try probe.equal(try await store.waitingLanes(), Set(lanes))
            try probe.equal(try await store.leased(lanes[1]), ids[1])
            try probe.equal(try await store.waitingLanes(), [lanes[0], lanes[2]])
            let last = try await store.lease(lanes[2])
            try probe.equal(last.deliveries.map(\.id), ids[2])
            let retry = LeaseEnd.retry(ids[2][0], afterMs: 0, Session.attempt(), isFree: false)
            try await store.settle([retry], last.token)
            try probe.expect(
                try await !store.waitingLanes(dueForMs: 5_000).contains(lanes[2]),
                "a lane is named before its retry was due for so long")
            await probe.advance(ms: 5_000)
            try probe.equal(try await store.waitingLanes(dueForMs: 5_000), [lanes[0], lanes[2]])
            await store.store.close()
        },
        StoreRule("a key is taken once within its window, which its event may name") { probe in
            let store = try await probe.open()
            func events(_ keys: [String], dedupeMs: UInt64? = nil) async throws -> Set<Int> {
                var items: [StoreEntry.Item] = []
                for key in keys {
                    var item = Session.item([Session.delivery(try await store.ids(1)[0])], key: key)
                    item.dedupeMs = dedupeMs
                    items.append(item)
                }
                return try await store.commit(items, dedupeMs: 10_000).duplicates
            }
            try probe.equal(try await events(["a", "b", "a", ""]), [2])
            try probe.equal(try await events(["b", "c", ""]), [0])
            try probe.equal(try await events(["d"], dedupeMs: 40_000), [])
            try probe.equal(store.store.waitingCount, 6, "waiting")
            await probe.advance(ms: 10_001)
            try probe.equal(try await events(["a", "d"]), [1])
            await store.store.close()
        },
        StoreRule("a full store refuses an entry whole, and takes it when there is room") { probe in
            var setup = StoreSetup()
            setup.waitingMax = 2
            let store = try await probe.open("one", setup)
            let ids = try await store.fill(1)
            let more = try await store.ids(2)
            let item = Session.item(more.map { Session.delivery($0) }, key: "k")
            try probe.equal(await store.append([item], dedupeMs: 10_000), .full)
            try probe.equal(store.store.waitingCount, 1, "waiting")
            let token = try await store.lease().token
            try await store.settle([.delivered(ids[0])], token)
            // The key of a rejected event is not remembered.
            try probe.equal(try await store.commit([item], dedupeMs: 10_000).duplicates, [])
            await store.store.close()
        },
        StoreRule("many requests at once are all committed, each once") { probe in
            let store = try await probe.open()
            let ids = try await store.ids(300)
            try await withThrowingTaskGroup { group in
                for id in ids {
                    group.addTask { try await store.commit([Session.item([Session.delivery(id)])]) }
                }
                try await group.waitForAll()
            }
            try probe.equal(store.store.waitingCount, 300, "waiting")
            try probe.equal(Set(try await store.leased()), Set(ids))
            await store.store.close()
        },
    ]
}
