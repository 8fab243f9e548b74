internal import SignalboxCore

extension StoreConformance {
    /// What a newer delivery has overtaken.
    static let staleRules: [StoreRule] = [
        StoreRule("a retry that a newer delivery of its key has overtaken is lent as stale") {
            probe in
            var store = try await probe.open()
            let ids = try await store.ids(5)
            let old = Session.collapsing(ids[0], "k", atMs: 1_000)
            let new = Session.collapsing(ids[1], "k", atMs: 2_000)
            // Another key, and one that is newer than what was accepted.
            let other = Session.collapsing(ids[2], "other", atMs: 1_000)
            let newest = Session.collapsing(ids[3], "k", atMs: 3_000)
            for delivery in [old, new, other, newest] {
                try await store.commit(at: delivery.content.receivedUnixMs, [delivery])
            }
            let token = try await store.lease().token
            func again(_ delivery: Delivery) -> LeaseEnd {
                .retry(delivery.id, afterMs: 0, Session.attempt(), isFree: false)
            }
            try await store.settle([again(old), again(other)], token)
            // One of those that it does not overtake is stored in the same commit, and so is one that it does.
            try await store.settle([.delivered(new.id, new.supersession), again(newest)], token)
            if probe.engine.has(.durable) {
                await store.store.close()
                store = try await probe.open()
            }
            let lease = try await store.lease()
            try probe.equal(
                Set(lease.deliveries.map(\.id)), [old.id, other.id, newest.id], "waiting")
            try probe.equal(lease.stale, [old.id: .shown], "stale")
            await store.store.close()
        },
        StoreRule("of a retry with an older number for the icon, only the number is stale") {
            probe in
            let store = try await probe.open()
            let ids = try await store.ids(2)
            let old = Session.counting(ids[0], 1, atMs: 1_000)
            let new = Session.counting(ids[1], 2, atMs: 2_000)
            for delivery in [old, new] {
                try await store.commit(at: delivery.content.receivedUnixMs, [delivery])
            }
            let token = try await store.lease().token
            try await store.settle(
                [
                    .delivered(new.id, new.supersession),
                    .retry(old.id, afterMs: 0, Session.attempt(), isFree: false),
                ], token)
            let lease = try await store.lease()
            try probe.equal(lease.deliveries.map(\.id), [old.id])
            try probe.equal(lease.stale, [old.id: .badge], "stale")
            await store.store.close()
        },
        StoreRule("a replay keeps its place in the order of events") { probe in
            let store = try await probe.open()
            let ids = try await store.ids(4)
            let before = Session.collapsing(ids[0], "before", atMs: 1_000)
            let after = Session.collapsing(ids[1], "after", atMs: 1_000)
            let newer = Session.collapsing(ids[2], "before", atMs: 2_000)
            let last = Session.collapsing(ids[3], "after", atMs: 2_000)
            for delivery in [before, after, newer, last] {
                try await store.commit(at: delivery.content.receivedUnixMs, [delivery])
            }
            let token = try await store.lease().token
            try await store.settle(
                [before, after].map { .dead($0.id, reason: "x", Session.attempt()) }, token)
            // One is overtaken as a dead letter, the other one while its replay waits.
            try await store.settle([.delivered(newer.id, newer.supersession)], token)
            _ = try await store.store.replay(DeadFilter(), fromID: 0, limit: 9)
            try await store.settle([.delivered(last.id, last.supersession)], token)
            let lease = try await store.lease()
            try probe.equal(Set(lease.deliveries.map(\.id)), [before.id, after.id], "replayed")
            try probe.equal(lease.stale, [before.id: .shown, after.id: .shown], "stale")
            try probe.equal(Set(lease.deliveries.map(\.acceptedUnixMs)), [1_000], "accepted")
            await store.store.close()
        },
        StoreRule("a newer report overtakes the dead letter of an older one") { probe in
            let store = try await probe.open()
            let ids = try await store.ids(2)
            let lane = LaneKey(sender: "crm", app: "", kind: .report)
            let reports = ids.map { id in
                var report = Session.delivery(id, lane, kind: .report)
                report.stableID = "device"
                return report
            }
            try await store.commit(at: 1_000, [reports[0]])
            var token = try await store.lease(lane).token
            try await store.settle([.dead(ids[0], reason: "x", Session.attempt())], token)
            try await store.commit(at: 1_000, [reports[1]])
            token = try await store.lease(lane).token
            try await store.settle([.delivered(ids[1], reports[1].supersession)], token)
            _ = try await store.store.replay(DeadFilter(), fromID: 0, limit: 9)
            let lease = try await store.lease(lane)
            try probe.equal(lease.stale, [ids[0]: .shown], "stale")
            await store.store.close()
        },
    ]
}

extension Session {
    /// Commits an event that was received at a time.
    fileprivate func commit(at unixMs: UInt64, _ deliveries: [Delivery]) async throws {
        let answer = await append(
            StoreEntry(
                items: [Self.item(deliveries)], receivedUnixMs: unixMs, dedupeMs: 0))
        guard case .committed = answer else {
            throw StoreFinding(rule: probe.rule, detail: "append: \(answer)")
        }
    }

    private static func delivery(
        _ id: UInt64, atMs unixMs: UInt64, _ change: (inout PushNotification) -> Void
    ) -> Delivery {
        var out = delivery(id)
        var note = out.content.notification
        change(&note)
        out.content = SharedNotification(note, eventType: "type", receivedUnixMs: unixMs)
        out.device.token = "token"
        return out
    }

    fileprivate static func collapsing(_ id: UInt64, _ key: String, atMs unixMs: UInt64) -> Delivery
    {
        delivery(id, atMs: unixMs) { $0.collapse = key }
    }

    fileprivate static func counting(_ id: UInt64, _ badge: Int32, atMs unixMs: UInt64) -> Delivery
    {
        delivery(id, atMs: unixMs) { $0.badge = badge }
    }
}
