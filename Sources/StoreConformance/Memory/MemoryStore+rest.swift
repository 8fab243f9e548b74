public import SignalboxCore
internal import Synchronization

extension MemoryStore: DeadLetterStore {
    private static func isMeant(_ letter: DeadLetter, _ filter: DeadFilter) -> Bool {
        (filter.ids.isEmpty || filter.ids.contains(letter.id))
            && filter.sender.map { $0 == letter.sender } ?? true
            && filter.route.map { $0 == letter.route } ?? true
            && filter.reason.map { $0 == letter.reason } ?? true
            && filter.app.map { $0 == letter.device.app } ?? true
            && filter.takes(user: letter.device.user)
            && filter.beforeUnixMs.map { letter.unixMs < $0 } ?? true
            && filter.sinceUnixMs.map { letter.unixMs >= $0 } ?? true
    }

    private static func part(
        _ state: MemoryStorage.State, _ filter: DeadFilter, fromID: UInt64, limit: Int
    ) -> (dead: [MemoryQueue.Dead], nextID: UInt64?) {
        let all = state.queue.dead.values.filter {
            $0.letter.id >= fromID && isMeant($0.letter, filter)
        }.sorted { $0.letter.id < $1.letter.id }
        let part = all.prefix(limit)
        return (Array(part), all.dropFirst(part.count).first?.letter.id)
    }

    /// Dead letters with ids from `fromID` on.
    public func deadLetters(
        _ filter: DeadFilter, fromID: UInt64, limit: Int
    ) async throws -> [DeadLetter] {
        try perform { state, _ in
            Self.part(state, filter, fromID: fromID, limit: limit).dead.map(\.letter)
        }.get()
    }

    /// The number of dead letters.
    public func deadCount(_ filter: DeadFilter) async throws -> Int {
        try perform { state, _ in
            state.queue.dead.values.count { Self.isMeant($0.letter, filter) }
        }.get()
    }

    /// Turns some of the dead letters back into deliveries.
    public func replay(_ filter: DeadFilter, fromID: UInt64, limit: Int) async throws -> DeadPart {
        let (part, given) = try perform { state, now in
            let part = Self.part(state, filter, fromID: fromID, limit: limit)
            var given: Set<LaneKey> = []
            for dead in part.dead {
                state.queue.dead[dead.letter.id] = nil
                given.formUnion(state.queue.replay(dead, nowUnixMs: now, token))
            }
            return (DeadPart(count: part.dead.count, nextID: part.nextID), given)
        }.get()
        tell(given, includingItself: true)
        return part
    }

    /// Removes what is too old or too much.
    public func trimDead(_ limits: DeadLimits, max: Int) async throws -> DeadTrim {
        try perform { state, now in
            let oldest = now - min(now, limits.keepMs)
            let all = state.queue.dead.values.map(\.letter)
                .sorted { ($0.unixMs, $0.id) < ($1.unixMs, $1.id) }
            let old = all.prefix { $0.unixMs < oldest }.prefix(max)
            let left = all.dropFirst(old.count)
            let surplus = left.prefix(min(max, left.count - min(left.count, limits.countMax)))
            for letter in old + surplus { state.queue.dead[letter.id] = nil }
            return DeadTrim(old: old.count, surplus: surplus.count)
        }.get()
    }

    /// Deletes some of the dead letters.
    public func purge(_ filter: DeadFilter, fromID: UInt64, limit: Int) async throws -> DeadPart {
        try perform { state, _ in
            let part = Self.part(state, filter, fromID: fromID, limit: limit)
            for dead in part.dead { state.queue.dead[dead.letter.id] = nil }
            return DeadPart(count: part.dead.count, nextID: part.nextID)
        }.get()
    }
}

extension MemoryStore: FleetStore {
    /// Nobody asks for it.
    public func setConfiguration(_ digest: String) {}

    /// Every owner, at work or not, and the backlog of each lane.
    public func fleet() async throws -> Fleet {
        try perform { state, now in
            var lanes: [LaneKey: Fleet.Backlog] = [:]
            var leased: [String: Int] = [:]
            for entry in state.queue.entries.values {
                let key = LaneKey(entry.delivery)
                var lane = lanes[key] ?? Fleet.Backlog(key)
                if let holder = entry.holder, entry.dueUnixMs > now {
                    lane.leased += 1
                    leased[holder.owner, default: 0] += 1
                } else {
                    lane.waiting += 1
                    if (1...now).contains(entry.dueUnixMs) {
                        lane.oldestDueUnixMs = min(lane.oldestDueUnixMs ?? now, entry.dueUnixMs)
                    }
                }
                lanes[key] = lane
            }
            var out = Fleet(nowUnixMs: now)
            out.members = state.epochs.keys.sorted().map {
                Fleet.Member(
                    name: $0, version: "", startedUnixMs: now, heartbeatUnixMs: now,
                    leased: leased[$0] ?? 0)
            }
            out.set(lanes.values)
            return out
        }.get()
    }
}

extension MemoryStore: KeyValueStore {
    /// The value of a key, or nil.
    public func value(
        instance: String, key: String,
        done: @escaping @Sendable (Result<[UInt8]?, StoreFailure>) -> Void
    ) {
        done(
            perform { state, now in
                guard let known = state.values[[instance, key]], known.untilUnixMs > now else {
                    return nil
                }
                return known.bytes
            })
    }

    /// All keys of an instance with their values.
    public func values(
        instance: String,
        done: @escaping @Sendable (Result<[String: [UInt8]], StoreFailure>) -> Void
    ) {
        done(
            perform { state, now in
                state.values.reduce(into: [:]) { out, entry in
                    guard entry.key[0] == instance, entry.value.untilUnixMs > now else { return }
                    out[entry.key[1]] = entry.value.bytes
                }
            })
    }

    /// Stores a value, or removes it.
    public func set(
        instance: String, key: String, value: [UInt8]?, forMs: UInt64?,
        done: @escaping @Sendable (Result<Void, StoreFailure>) -> Void
    ) {
        done(
            perform { state, now in
                state.values[[instance, key]] = value.map { ($0, forMs.map { now + $0 } ?? .max) }
            })
    }

    /// Keys in order.
    public func keys(
        instance: String, prefix: String, after: String, limit: Int,
        done: @escaping @Sendable (Result<[String], StoreFailure>) -> Void
    ) {
        done(
            perform { state, now in
                let own = state.values.filter {
                    $0.key[0] == instance && $0.value.untilUnixMs > now
                }
                let keys = own.map { $0.key[1] }.filter { key in
                    key.utf8.starts(with: prefix.utf8)
                        && after.utf8.lexicographicallyPrecedes(key.utf8)
                }
                let sorted = keys.sorted { $0.utf8.lexicographicallyPrecedes($1.utf8) }
                return Array(sorted.prefix(limit))
            })
    }

    /// Changes a value in dependence of what is stored.
    public func edit(
        instance: String, key: String, _ edit: KeyValueEdit,
        done: @escaping @Sendable (Result<KeyValueEdited, StoreFailure>) -> Void
    ) {
        done(
            perform { state, now in
                let known = state.values[[instance, key]].flatMap {
                    $0.untilUnixMs > now ? $0 : nil
                }
                guard let effect = edit.effect(on: known?.bytes) else {
                    return KeyValueEdited(isDone: false, value: known?.bytes)
                }
                let until =
                    effect.forMs.map { $0.map { now + $0 } ?? .max } ?? known?.untilUnixMs ?? .max
                state.values[[instance, key]] = effect.value.map { ($0, until) }
                return KeyValueEdited(isDone: true, value: effect.value)
            })
    }
}

extension MemoryStore: OutcomeStore {
    /// The sequence number of the next outcome.
    public var nextOutcome: UInt64 { storage.state.withLock { $0.outcomes.next } }

    /// Sets the receivers. Returns the position of each.
    public func setOutcomeReceivers(_ names: [String]) async throws -> [String: UInt64] {
        try perform { state, _ in state.outcomes.setReceivers(names) }.get()
    }

    /// Makes this owner the one that sends a receiver's outcomes.
    public func claimOutcomes(
        for receiver: String, forMs: UInt64
    ) async throws -> OutcomeClaim? {
        try perform { state, now in
            let epochs = state.epochs
            return state.outcomes.claim(
                receiver, token, nowUnixMs: now, forMs: forMs,
                isAlive: { epochs[$0.owner] == $0.epoch })
        }.get().map { OutcomeClaim(next: $0, isShared: true) }
    }

    /// Rows from a sequence number on, in order, and whether there are more.
    public func outcomes(from first: UInt64) async throws -> (rows: [OutcomeRow], hasMore: Bool) {
        try perform { state, _ in state.outcomes.rows(from: first) }.get()
    }

    /// Records that a receiver has everything below `next`.
    public func outcomesTaken(by receiver: String, next: UInt64) async throws {
        try perform { state, _ in state.outcomes.taken(by: receiver, next: next) }.get()
    }

    /// Appends outcomes that end no delivery.
    public func append(_ outcomes: OutcomePack) async throws {
        try perform { state, now in
            state.outcomes.append(outcomes, nowUnixMs: now)
            state.history.add(outcomes.history, by: token.owner, nowUnixMs: now)
        }.get()
    }
}

extension MemoryStore: HistoryStore {
    /// Says how much is kept.
    public func keepHistory(_ limits: HistoryLimits) {
        storage.state.withLock { $0.history.limits = limits }
    }

    /// All rows with one of the tags.
    public func history(_ search: HistorySearch) async throws -> HistoryPage {
        try perform { state, _ in state.history.page(search) }.get()
    }
}
