internal import SignalboxCore

extension StoreConformance {
    /// How leases end, and when a delivery is due again.
    static let retryRules: [StoreRule] = [
        StoreRule("a delivery that is done is gone, one that is released is due again") { probe in
            let store = try await probe.open()
            let ids = try await store.fill(3)
            let lease = try await store.lease()
            try await store.settle([.delivered(ids[0]), .released(ids[2])], lease.token)
            try probe.equal(store.store.waitingCount, 2, "waiting")
            try probe.equal(try await store.leased(), [ids[2]])
            await store.store.close()
        },
        StoreRule("a retry waits for its time, counts its attempt and keeps its stable id") {
            probe in
            let store = try await probe.open()
            let id = try await store.fill(1)[0]
            let lease = try await store.lease()
            try await store.settle(
                [.retry(id, afterMs: 8_000, Session.attempt(), isFree: false)], lease.token)
            let early = try await store.lease()
            try probe.expect(early.deliveries.isEmpty && !early.hasMore, "leased before its time")
            let wait = early.nextDueInMs ?? 0
            try probe.expect((1...8_000).contains(wait), "due in \(wait) ms instead of 8,000")
            await probe.advance(ms: 8_000)
            let late = try await store.lease().deliveries
            try probe.equal(late.map(\.id), [id])
            try probe.equal(late.first?.attempt, 2)
            try probe.equal(late.first?.freeAttempts, 0)
            try probe.equal(late.first?.stableID, "stable-\(id)")
            try probe.equal(late.first?.content.receivedUnixMs, 1_000)
            await store.store.close()
        },
        StoreRule("a delivery that waits from the start is leased no earlier, not even by a probe")
        {
            probe in
            let store = try await probe.open()
            let ids = try await store.ids(3)
            var item = Session.item(ids.map { Session.delivery($0) })
            item.waitsMs = [ids[0]: 600_000, ids[1]: 300_000]
            try await store.commit([item])
            try probe.equal(store.store.waitingCount, 3, "waiting")
            let lease = try await store.lease()
            try probe.equal(lease.deliveries.map(\.id), [ids[2]])
            try await store.settle([.delivered(ids[2])], lease.token)
            try probe.equal(try await store.lease(isProbe: true).deliveries.map(\.id), [])
            let early = try await store.lease()
            let wait = early.nextDueInMs ?? 0
            try probe.expect((1...300_000).contains(wait), "due in \(wait) ms, not 300,000")
            await probe.advance(ms: 300_000)
            let first = try await store.lease()
            try probe.equal(first.deliveries.map(\.id), [ids[1]])
            try probe.equal(first.deliveries.first?.attempt, 1)
            try probe.equal(first.deliveries.first?.content.notification.title, "Title \(ids[1])")
            try await store.settle([.delivered(ids[1])], first.token)
            var rest = store
            if probe.engine.has(.durable) {
                await store.store.close()
                rest = try await probe.open()
            }
            await probe.advance(ms: 150_000)
            try probe.equal(try await rest.lease(isProbe: true).deliveries.map(\.id), [])
            await probe.advance(ms: 150_000)
            try probe.equal(try await rest.leased(), [ids[0]])
            await rest.store.close()
        },
        StoreRule("retries come in the order in which they are due") { probe in
            let store = try await probe.open()
            let ids = try await store.fill(3)
            let token = try await store.lease().token
            try await store.settle(
                zip(ids, [UInt64(3_000), 1_000, 2_000]).map {
                    .retry($0, afterMs: $1, Session.attempt(), isFree: false)
                }, token)
            await probe.advance(ms: 3_000)
            try probe.equal(try await store.leased(), [ids[1], ids[2], ids[0]])
            await store.store.close()
        },
        StoreRule("a retry can be leased by a request that follows it") { probe in
            let store = try await probe.open()
            for _ in 0..<20 {
                let id = try await store.fill(1)[0]
                let token = try await store.lease().token
                async let settled = store.settle(
                    [.retry(id, afterMs: 0, Session.attempt(), isFree: false)], token)
                _ = try await settled
                try probe.equal(try await store.leased(), [id])
                try await store.settle([.delivered(id)], token)
            }
            await store.store.close()
        },
        StoreRule("what waits for its provider alone is due once the provider is back") { probe in
            let store = try await probe.open()
            let ids = try await store.fill(2)
            let token = try await store.lease().token
            try await store.settle(
                [
                    .retry(ids[0], afterMs: 90_000, Session.attempt(), isFree: true),
                    .retry(ids[1], afterMs: 90_000, Session.attempt(), isFree: false),
                ], token)
            try probe.equal(try await store.leased(), [])
            store.store.hasten(Session.lane)
            let lease = try await store.lease()
            try probe.equal(lease.deliveries.map(\.id), [ids[0]])
            try probe.equal(lease.deliveries.first?.freeAttempts, 1)
            await store.store.close()
        },
        StoreRule("a probe is one that was never tried, or else one that is not due") { probe in
            let store = try await probe.open()
            let tried = try await store.fill(1)
            let token = try await store.lease().token
            try await store.settle(
                [.retry(tried[0], afterMs: 0, Session.attempt(), isFree: true)], token)
            let fresh = try await store.fill(1)
            let first = try await store.lease(max: 1, isProbe: true)
            try probe.equal(first.deliveries.map(\.id), fresh)
            try await store.settle(
                [.retry(fresh[0], afterMs: 90_000, Session.attempt(), isFree: true)], token)
            let second = try await store.lease(max: 1, isProbe: true)
            try probe.equal(second.deliveries.map(\.id), tried)
            try await store.settle([.delivered(tried[0])], token)
            let third = try await store.lease(max: 1, isProbe: true)
            try probe.equal(third.deliveries.map(\.id), fresh)
            await store.store.close()
        },
        StoreRule("a late answer ends a delivery that was tried and waits") { probe in
            let store = try await probe.open()
            let id = try await store.fill(1)[0]
            let token = try await store.lease().token
            try await store.settle(
                [.retry(id, afterMs: 1_000, Session.attempt(), isFree: false)], token)
            try probe.equal(try await store.settle([.delivered(id)], token), LeaseRefusal())
            await probe.advance(ms: 1_000)
            try probe.equal(try await store.leased(), [])
            try probe.equal(store.store.waitingCount, 0, "waiting")
            await store.store.close()
        },
    ]
}
