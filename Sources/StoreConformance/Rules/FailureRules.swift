internal import SignalboxCore

extension StoreConformance {
    /// Crashes, failures and shutdowns.
    static let failureRules: [StoreRule] = [
        StoreRule("what was answered outlives a crash", only: .durable) { probe in
            let store = try await probe.open()
            _ = try await store.store.setOutcomeReceivers(["crm"])
            _ = try await store.store.register(
                Device(app: "a", platform: "ios", token: "t", user: "u"), isUnique: true)
            let ids = try await store.ids(3)
            func item(_ id: UInt64, _ key: String) -> StoreEntry.Item {
                var item = Session.item([Session.delivery(id)], key: key, taken: [id])
                item.badges = [
                    BadgeStep(user: UserKey(app: "a", user: "u"), number: nil, places: [0])
                ]
                return item
            }
            let items = ids.map { item($0, "k\($0)") }
            let token = try await store.commit(items, dedupeMs: 60_000).token
            try await store.settle(
                [
                    .delivered(ids[0]),
                    .retry(ids[1], afterMs: 5_000, Session.attempt(), isFree: false),
                ], token, outcomes: Session.pack([1]))
            try await store.set("a", "k", [1])
            try await probe.engine.crash(store.store)
            let next = try await probe.open()
            try probe.equal(next.store.waitingCount, 2, "waiting")
            try probe.equal(try await next.leased(), [ids[2]])
            try probe.equal(try await next.store.outcomes(from: 1).rows.count, 1, "outcomes")
            try probe.equal(next.store.nextOutcome, 2, "next outcome")
            try probe.equal(try await next.find("a", "t").count, 1, "devices")
            try probe.equal(try await next.value("a", "k"), [1])
            let again = Session.item(
                [Session.delivery(try await next.ids(1)[0])], key: "k\(ids[0])")
            try probe.equal(try await next.commit([again], dedupeMs: 60_000).duplicates, [0])
            let last = try await next.commit([item(try await next.ids(1)[0], "last")])
            try probe.equal(last.badges[0], [4], "badge")
            await probe.advance(ms: 5_000)
            try probe.equal(try await next.lease().deliveries.map(\.attempt), [2])
            await next.store.close()
        },
        StoreRule(
            "every call of a failing store says so, and nothing of it was done", only: .failing
        ) {
            probe in
            let store = try await probe.open()
            let ids = try await store.fill(2)
            let token = try await store.lease(max: 1).token
            let more = try await store.ids(1)
            await probe.engine.fail(true)
            let answer = await store.append([Session.item([Session.delivery(more[0])], key: "k")])
            if case .committed = answer { throw StoreFinding(rule: probe.rule, detail: "append") }
            try await fails(probe, "reserveIDs") { _ = try await store.ids(1) }
            try await fails(probe, "lease") { _ = try await store.lease() }
            try await fails(probe, "extend") {
                _ = try await store.extend([ids[0]], token, forMs: 1)
            }
            try await fails(probe, "settle") {
                _ = try await store.settle([.delivered(ids[0])], token)
            }
            try await fails(probe, "waitingLanes") { _ = try await store.waitingLanes() }
            try await fails(probe, "find") { _ = try await store.find("a", "t") }
            try await fails(probe, "value") { _ = try await store.value("a", "k") }
            try await fails(probe, "values") { _ = try await store.values("a") }
            try await fails(probe, "set") { try await store.set("a", "k", [1]) }
            try await fails(probe, "deadCount") {
                _ = try await store.store.deadCount(DeadFilter())
            }
            try await fails(probe, "outcomes") { _ = try await store.store.outcomes(from: 1) }
            await probe.engine.fail(false)
            try probe.equal(try await store.settle([.delivered(ids[0])], token), LeaseRefusal())
            try probe.equal(try await store.leased(), [ids[1]])
            try probe.equal(store.store.waitingCount, 1, "waiting")
            let item = Session.item([Session.delivery(more[0])], key: "k")
            try probe.equal(try await store.commit([item], dedupeMs: 9_000).duplicates, [])
            await store.store.close()
        },
        StoreRule("every call of a closed store says so") { probe in
            let store = try await probe.open()
            let token = try await store.token()
            await store.store.close()
            let answer = await store.append([])
            guard case .failed = answer else {
                throw StoreFinding(rule: probe.rule, detail: "append: \(answer)")
            }
            try await fails(probe, "reserveIDs") { _ = try await store.ids(1) }
            try await fails(probe, "lease") { _ = try await store.lease() }
            try await fails(probe, "extend") { _ = try await store.extend([1], token, forMs: 1) }
            try await fails(probe, "settle") { _ = try await store.settle([], token) }
            try await fails(probe, "waitingLanes") { _ = try await store.waitingLanes() }
            try await fails(probe, "find") { _ = try await store.find("a", "t") }
            try await fails(probe, "value") { _ = try await store.value("a", "k") }
        },
    ]

    private static func fails(
        _ probe: StoreProbe, _ name: String, _ call: () async throws -> Void
    ) async throws {
        do {
            try await call()
        } catch is StoreFinding {
            throw StoreFinding(rule: probe.rule, detail: "\(name) answered, and wrongly")
        } catch {
            return
        }
        throw StoreFinding(rule: probe.rule, detail: "\(name) did not fail")
    }
}
