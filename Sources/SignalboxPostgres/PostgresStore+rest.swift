public import SignalboxCore
internal import SignalboxTables
internal import Synchronization

extension PostgresStore: DeadLetterStore {
    /// Puts a part of them back into the queue.
    public func replay(_ filter: DeadFilter, fromID: UInt64, limit: Int) async throws -> DeadPart {
        let (part, lanes) = try await change(on: dead) { transaction throws(TransactionFault) in
            do {
                let found = try DeadTables.replay(
                    filter, fromID: fromID, limit: limit, nowUnixMs: self.clock.nowUnixMs,
                    transaction)
                if !found.numbers.isEmpty {
                    let numbers = found.numbers.sorted().prefix(300).map { "\($0)" }
                    self.tellOthers(numbers.joined(separator: ","), transaction)
                }
                return (found.part, found.lanes)
            } catch {
                throw TransactionFault(error)
            }
        }
        shared.waiting.wrappingAdd(part.count, ordering: .relaxed)
        if !lanes.isEmpty { watcher.tell(lanes.sorted()) }
        return part
    }
}

extension PostgresStore: OutcomeStore {
    /// The sequence number of the next outcome that is appended, as last known.
    public var nextOutcome: UInt64 { UInt64(clamping: shared.outcomes.load(ordering: .relaxed)) }

    /// Sets this gateway's receivers. Returns the position of each. One that no gateway has named for ten minutes is
    /// removed.
    public func setOutcomeReceivers(_ names: [String]) async throws -> [String: UInt64] {
        let (positions, next) = try await change { transaction throws(TransactionFault) in
            try OutcomeTables.setReceivers(names, transaction, nowUnixMs: self.clock.nowUnixMs)
        }
        shared.receivers = names
        shared.outcomes.store(next, ordering: .relaxed)
        return positions
    }

    /// Makes this gateway the one that sends a receiver's outcomes.
    public func claimOutcomes(
        for receiver: String, forMs: UInt64
    ) async throws -> OutcomeClaim? {
        let life = life
        let isFree = try await look { link, deadline throws(PostgresFault) in
            try OutcomeTables.canClaim(
                receiver, life, nowUnixMs: self.clock.nowUnixMs, link, byNs: deadline)
        }
        guard isFree else { return nil }
        let next = try await change { transaction throws(TransactionFault) in
            let now = self.clock.nowUnixMs
            return try OutcomeTables.claim(
                receiver, life, untilUnixMs: now + Int64(clamping: forMs), nowUnixMs: now,
                transaction)
        }
        return next.map { OutcomeClaim(next: $0, isShared: true) }
    }

    /// Rows from a sequence number on, in order, and whether there are more.
    public func outcomes(from first: UInt64) async throws -> (rows: [OutcomeRow], hasMore: Bool) {
        let found = try await look { link, deadline throws(PostgresFault) in
            let (rows, hasMore) = try OutcomeTables.rows(from: first, link, byNs: deadline)
            return (rows: rows, hasMore: hasMore)
        }
        if !found.hasMore, let last = found.rows.last {
            let next = Int(clamping: last.first) + last.count
            if next > shared.outcomes.load(ordering: .relaxed) {
                shared.outcomes.store(next, ordering: .relaxed)
            }
        }
        return found
    }

    /// A receiver has taken everything below `next`.
    public func outcomesTaken(by receiver: String, next: UInt64) async throws {
        try await change { OutcomeTables.taken(by: receiver, next: next, $0) }
    }

    /// Appends outcomes that end no delivery.
    public func append(_ outcomes: OutcomePack) async throws {
        let next = try await change { transaction throws(TransactionFault) in
            let group = Group([])
            group.note(outcomes.history)
            HistoryTables.append(
                group.history, by: self.options.owner, transaction,
                nowUnixMs: self.clock.nowUnixMs)
            return try OutcomeTables.append(
                outcomes, group, transaction, nowUnixMs: self.clock.nowUnixMs)
        }
        if let next { shared.outcomes.store(next, ordering: .relaxed) }
    }
}

extension PostgresStore: HistoryStore {
    /// Says how much is kept. Of several gateways, each removes what is too much by its own limits.
    public func keepHistory(_ limits: HistoryLimits) { shared.historyLimits = limits }

    /// Looks at some rows.
    public func history(_ search: HistorySearch) async throws -> HistoryPage {
        try await look(on: dead) { link, deadline throws(PostgresFault) in
            try HistoryTables.page(search, link, byNs: deadline)
        }
    }
}
