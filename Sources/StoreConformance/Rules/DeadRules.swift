internal import SignalboxCore

extension StoreConformance {
    /// Dead letters.
    static let deadRules: [StoreRule] = [
        StoreRule("a dead letter keeps what is needed to understand it") { probe in
            let store = try await probe.open()
            let id = try await store.fill(1)[0]
            for number in UInt32(1)...4 {
                let token = try await store.lease().token
                let end: LeaseEnd =
                    number < 4
                    ? .retry(id, afterMs: 0, Session.attempt(number), isFree: true)
                    : .dead(id, reason: "rejected", Session.attempt(4, "rejected"))
                try await store.settle([end], token)
            }
            try probe.equal(store.store.waitingCount, 0, "waiting")
            let all = try await store.store.deadLetters(DeadFilter(), fromID: 0, limit: 9)
            try probe.equal(all.count, 1, "dead letters")
            let letter = all.first
            try probe.equal(letter?.id, id)
            try probe.equal(letter?.reason, "rejected")
            try probe.equal(letter?.unixMs, 5_000)
            try probe.equal(letter?.sender, "apns")
            try probe.equal(letter?.route, "route")
            try probe.equal(letter?.source, "source")
            try probe.equal(letter?.type, "type")
            try probe.equal(letter?.stableID, "stable-\(id)")
            try probe.equal(letter?.device.token, "token-\(id)")
            try probe.equal(letter?.notification.title, "Title \(id)")
            // The first and the last attempt of an outage are kept.
            try probe.equal(letter?.attempts.map(\.number), [1, 3, 4])
            await store.store.close()
        },
        StoreRule("a replay begins anew under the same stable id, and wakes the lane") { probe in
            let store = try await probe.open()
            let (lanes, tell) = AsyncStream.makeStream(of: [LaneKey].self)
            store.store.watch { tell.yield($0) }
            let ids = try await store.ids(1)
            var delivery = Session.delivery(ids[0])
            delivery.deadlineUnixMs = 61_000
            try await store.commit([Session.item([delivery])])
            let token = try await store.lease().token
            try await store.settle(
                [.retry(ids[0], afterMs: 0, Session.attempt(), isFree: false)], token)
            _ = try await store.lease()
            try await store.settle([.dead(ids[0], reason: "x", Session.attempt(2))], token)
            let part = try await store.store.replay(DeadFilter(), fromID: 0, limit: 9)
            try probe.equal(part, DeadPart(count: 1, nextID: nil))
            try probe.equal(await lanes.first { _ in true }, [Session.lane])
            try probe.equal(try await store.store.deadCount(DeadFilter()), 0, "dead letters")
            let again = try await store.lease().deliveries.first
            try probe.equal(again?.attempt, 1)
            try probe.equal(again?.stableID, "stable-\(ids[0])")
            // It came in at 1,000 and had 60 s.
            let receivedUnixMs = again?.content.receivedUnixMs ?? 0
            try probe.equal(
                again?.deadlineUnixMs, receivedUnixMs + Replay.ageMs + 60_000, "its time")
            try probe.expect(receivedUnixMs > 1_000, "a replay counts as received long ago")
            await store.store.close()
        },
        StoreRule("dead letters are read, replayed and purged in parts, as a filter says") {
            probe in
            let store = try await probe.open()
            let ids = try await store.fill(5)
            let other = try await store.fill(1, LaneKey(sender: "fcm", app: ""))
            let token = try await store.lease().token
            _ = try await store.lease(LaneKey(sender: "fcm", app: ""))
            try await store.settle(
                (ids + other).map { .dead($0, reason: "x", Session.attempt()) }, token)
            var apns = DeadFilter()
            apns.sender = "apns"
            try probe.equal(try await store.store.deadCount(apns), 5, "of apns")
            try probe.equal(try await store.store.deadCount(DeadFilter()), 6, "of all")
            let first = try await store.store.purge(apns, fromID: 0, limit: 2)
            try probe.equal(first.count, 2)
            let rest = try await store.store.replay(apns, fromID: first.nextID ?? 0, limit: 9)
            try probe.equal(rest, DeadPart(count: 3, nextID: nil))
            let left = try await store.store.deadLetters(DeadFilter(), fromID: 0, limit: 9)
            try probe.equal(left.map(\.id), other)
            for (reason, count) in [("x", 1), ("y", 0)] {
                var filter = DeadFilter()
                filter.reason = reason
                filter.ids = other
                filter.sinceUnixMs = 5_000
                filter.beforeUnixMs = 5_001
                try probe.equal(try await store.store.deadCount(filter), count)
            }
            await store.store.close()
        },
    ]
}
