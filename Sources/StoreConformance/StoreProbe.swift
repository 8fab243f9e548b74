internal import SignalboxCore

/// An engine that is examined for a rule.
struct StoreProbe: Sendable {
    let rule: String
    let engine: any StoreEngine

    func open(_ owner: String = "one", _ setup: StoreSetup = StoreSetup()) async throws -> Session {
        Session(probe: self, store: try await engine.open(owner: owner, setup))
    }

    func advance(ms: UInt64) async { await engine.advance(ms: ms) }

    func expect(_ holds: Bool, _ words: @autoclosure () -> String, line: UInt = #line) throws {
        guard !holds else { return }
        throw StoreFinding(rule: rule, detail: "\(words()) (line \(line))")
    }

    func equal<Value: Equatable>(
        _ found: Value, _ wanted: Value, _ words: String = "", line: UInt = #line
    ) throws {
        try expect(found == wanted, "\(words) \(found) instead of \(wanted)", line: line)
    }
}

/// A store whose calls can be awaited.
struct Session: Sendable {
    static let lane = LaneKey(sender: "apns", app: "")

    let probe: StoreProbe
    let store: any GatewayStore

    func ids(_ count: Int) async throws -> [UInt64] {
        let range: Range<UInt64> = try await result { store.reserveIDs(count, done: $0) }
        try probe.equal(range.count, count, "ids")
        return Array(range)
    }

    /// Commits events with one delivery each; `item` makes each event.
    func append(
        _ items: [StoreEntry.Item], dedupeMs: UInt64 = 0
    ) async -> StoreAnswer {
        await append(StoreEntry(items: items, receivedUnixMs: 1_000, dedupeMs: dedupeMs))
    }

    func append(_ entry: StoreEntry) async -> StoreAnswer {
        await withCheckedContinuation { continuation in
            store.append(entry) { continuation.resume(returning: $0) }
        }
    }

    @discardableResult
    func commit(
        _ items: [StoreEntry.Item], dedupeMs: UInt64 = 0,
        line: UInt = #line
    ) async throws -> StoreCommit {
        let answer = await append(items, dedupeMs: dedupeMs)
        guard case .committed(let commit) = answer else {
            throw StoreFinding(rule: probe.rule, detail: "append: \(answer) (line \(line))")
        }
        return commit
    }

    /// Commits new deliveries of a lane, one per event. Returns their ids.
    @discardableResult
    func fill(
        _ count: Int, _ lane: LaneKey = lane, priority: Priority = .normal, isTaken: Bool = false
    ) async throws -> [UInt64] {
        let ids = try await ids(count)
        try await commit(
            ids.map { id in
                Self.item(
                    [Self.delivery(id, lane, priority: priority)], taken: isTaken ? [id] : [])
            })
        return ids
    }

    func lease(
        _ lane: LaneKey = lane, max: Int = 1_000, forMs: UInt64 = 10_000, isProbe: Bool = false
    ) async throws -> StoreLease {
        try await result {
            store.lease(lane, LeaseWish(max: max, forMs: forMs, isProbe: isProbe), done: $0)
        }
    }

    func leased(_ lane: LaneKey = lane, max: Int = 1_000) async throws -> [UInt64] {
        try await lease(lane, max: max).deliveries.map(\.id)
    }

    @discardableResult
    func settle(
        _ ends: [LeaseEnd], _ token: LeaseToken, outcomes: OutcomePack = OutcomePack()
    ) async throws -> LeaseRefusal {
        try await result { store.settle(ends, under: token, outcomes: outcomes, done: $0) }
    }

    func extend(
        _ ids: [UInt64], _ token: LeaseToken, forMs: UInt64
    ) async throws -> LeaseRefusal {
        try await result { store.extend(ids, under: token, forMs: forMs, done: $0) }
    }

    func waitingLanes(dueForMs: UInt64? = nil) async throws -> Set<LaneKey> {
        Set(try await result { store.waitingLanes(dueForMs: dueForMs, done: $0) } as [LaneKey])
    }

    func find(_ app: String, _ token: String) async throws -> [RegisteredDevice] {
        try await result { store.find(app: app, token: token, done: $0) }
    }

    func outbox(max: Int = 1_000) async throws -> [OutboxEntry] {
        try await result { store.outbox(max: max, done: $0) }
    }

    func value(_ instance: String, _ key: String) async throws -> [UInt8]? {
        try await result { store.value(instance: instance, key: key, done: $0) }
    }

    func values(_ instance: String) async throws -> [String: [UInt8]] {
        try await result { store.values(instance: instance, done: $0) }
    }

    func set(_ instance: String, _ key: String, _ value: [UInt8]?, forMs: UInt64? = nil)
        async throws
    {
        try await result {
            store.set(instance: instance, key: key, value: value, forMs: forMs, done: $0)
        }
    }

    /// The token of this store's current leases.
    func token() async throws -> LeaseToken {
        try await lease(LaneKey(sender: "nobody", app: "")).token
    }

    func result<Value: Sendable>(
        _ call: (@escaping @Sendable (Result<Value, StoreFailure>) -> Void) -> Void
    ) async throws -> Value {
        try await withCheckedThrowingContinuation { continuation in
            call { continuation.resume(with: $0) }
        }
    }

    // MARK: What is stored

    static func delivery(
        _ id: UInt64, _ lane: LaneKey = lane, priority: Priority = .normal,
        kind: DeliveryKind = .push
    ) -> Delivery {
        var note = PushNotification()
        note.priority = priority
        note.title = "Title \(id)"
        return Delivery(
            kind: kind, id: id, eventID: id, source: "source", subject: "subject",
            route: kind == .push ? "route" : "",
            sender: lane.sender, stableID: "stable-\(id)", deadlineUnixMs: 0,
            content: SharedNotification(note, eventType: "type", receivedUnixMs: 1_000),
            device: Device(app: lane.app, platform: "ios", token: "token-\(id)", user: "user"))
    }

    static func item(
        _ deliveries: [Delivery], key: String = "", taken: Set<UInt64> = []
    ) -> StoreEntry.Item {
        StoreEntry.Item(
            event: Event(
                id: deliveries.first?.id ?? 1, source: "source", type: "type",
                subject: "subject", dedupe: key),
            deliveries: deliveries, taken: taken)
    }

    static func attempt(_ number: UInt32 = 1, _ reason: String = "unreachable") -> Attempt {
        Attempt(number: number, unixMs: 5_000, reason: reason, code: 0, detail: "detail")
    }

    static func pack(_ ids: [UInt64]) -> OutcomePack {
        var pack = OutcomePack()
        for id in ids {
            pack.add(
                .delivered, of: delivery(id), reason: "ok", providerID: "p", attempts: 1,
                unixMs: 5_000)
        }
        return pack
    }
}
