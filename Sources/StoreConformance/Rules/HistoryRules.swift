internal import SignalboxCore

extension StoreConformance {
    /// What is kept for traces.
    static let historyRules: [StoreRule] = [
        StoreRule("history is written in the commit of what happened, and found by its tags") {
            probe in
            let store = try await probe.open()
            store.store.keepHistory(HistoryLimits())
            let ids = try await store.ids(3)
            try await store.commit(ids.prefix(2).map { store.noted($0, user: "u\($0)") })
            let lease = try await store.lease()
            try await store.settle(
                [.delivered(ids[0])], lease.token, outcomes: Session.steps([.delivered], of: ids[0])
            )
            try await store.settle(
                [.delivered(ids[1])], lease.token, outcomes: Session.steps([.delivered], of: ids[1])
            )
            try await store.store.append(Session.steps([.opened], of: ids[0]))
            let (events, steps) = try await store.found([.event(ids[0])])
            try probe.equal(events.filter { $0.id == ids[0] }.map(\.type), ["type"])
            try probe.equal(
                steps.filter { $0.eventID == ids[0] }.map(\.kind), [.opened, .delivered],
                "newest first")
            try probe.equal(
                try await store.found([.user("u\(ids[1])")]).0.map(\.id).contains(ids[1]), true)
            let both = try await store.found([.event(ids[0]), .event(ids[1])])
            try probe.equal(Set(both.0.map(\.id)), Set(ids.prefix(2)))
            try probe.equal(try await store.found([.event(ids[2])]).0, [])
            try probe.equal(
                try await store.found([.event(ids[0])], sinceUnixMs: .max / 4).0, [], "too old:")
            await store.store.close()
        },
        StoreRule("history of a duplicate says so") { probe in
            let store = try await probe.open()
            store.store.keepHistory(HistoryLimits())
            let ids = try await store.ids(2)
            for id in ids {
                try await store.commit([store.noted(id, key: "same")], dedupeMs: 60_000)
            }
            let events = try await store.found([.subject("subject")]).0
            try probe.equal(events.map(\.id), ids.reversed())
            try probe.equal(events.map(\.isDuplicate), [true, false])
            await store.store.close()
        },
        StoreRule("history is kept as far as its limits say") { probe in
            let store = try await probe.open()
            let ids = try await store.ids(3)
            try await store.commit([store.noted(ids[0])])
            store.store.keepHistory(HistoryLimits())
            try await store.commit([store.noted(ids[1])])
            store.store.keepHistory(.none)
            try await store.commit([store.noted(ids[2])])
            try probe.equal(try await store.found([.subject("subject")]).0.map(\.id), [ids[1]])
            await store.store.close()
        },
        StoreRule("history outlives its gateway", only: .durable) { probe in
            let store = try await probe.open()
            store.store.keepHistory(HistoryLimits())
            let id = try await store.ids(1)[0]
            try await store.commit([store.noted(id)])
            try await probe.engine.crash(store.store)
            let next = try await probe.open()
            next.store.keepHistory(HistoryLimits())
            let other = try await next.ids(1)[0]
            try await next.commit([next.noted(other)])
            try probe.equal(
                try await next.found([.subject("subject")]).0.map(\.id), [other, id])
            await next.store.close()
        },
    ]
}

extension Session {
    /// An event with a delivery and its history.
    fileprivate func noted(
        _ id: UInt64, user: String = "user", key: String = ""
    ) -> StoreEntry.Item {
        var item = Self.item([Self.delivery(id)], key: key)
        var event = HistoryEvent(item.event, receivedUnixMs: 1_000)
        event.targets = [HistoryTarget(Self.delivery(id), route: 0)]
        item.history = HistoryPack(
            event, tags: [.event(id), .user(user), .subject("subject")])
        return item
    }

    fileprivate static func steps(_ kinds: [HistoryStep.Kind], of id: UInt64) -> OutcomePack {
        var out = OutcomePack()
        for kind in kinds {
            out.history.add(
                HistoryStep(kind, eventID: id, delivery: id, unixMs: 5_000), of: delivery(id))
        }
        return out
    }

    /// Events and steps, the newest first.
    fileprivate func found(
        _ tags: [HistoryTag], sinceUnixMs: UInt64 = 0
    ) async throws -> ([HistoryEvent], [HistoryStep]) {
        var search = HistorySearch(tags, sinceUnixMs: sinceUnixMs)
        var (events, steps): ([HistoryEvent], [HistoryStep]) = ([], [])
        repeat {
            let page = try await store.history(search)
            for row in page.rows {
                let read = row.read()
                events += read.events.reversed()
                steps += read.steps.reversed()
            }
            search.cursor = page.next
        } while search.cursor != nil
        return (events, steps)
    }
}
