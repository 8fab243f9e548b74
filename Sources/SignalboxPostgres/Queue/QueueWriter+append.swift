internal import SignalboxCore
internal import SignalboxTables
internal import Synchronization

/// What comes in.
extension QueueWriter {
    /// An event of an entry that is not refused.
    private final class Arrival {
        var item: StoreEntry.Item
        let receivedUnixMs: UInt64
        let isKnown: Bool
        var numbers: [Int32?] = []

        init(_ item: StoreEntry.Item, receivedUnixMs: UInt64, isKnown: Bool) {
            self.item = item
            self.receivedUnixMs = receivedUnixMs
            self.isKnown = isKnown
        }
    }

    /// Keys of a group's events, each once and in their order, so that two gateways do not wait for each other.
    private struct Keys {
        private var until: [SeenKey: Int64] = [:]
        var isEmpty: Bool { until.isEmpty }
        var count: Int { until.count }

        /// False: an earlier event of the group has it.
        mutating func add(_ key: SeenKey, untilUnixMs: Int64) -> Bool {
            guard until[key] == nil else { return false }
            until[key] = untilUnixMs
            return true
        }

        func parameters(nowUnixMs: Int64) -> Parameters {
            let sorted = until.sorted { $0.key < $1.key }
            let out = Parameters(sorted.map(\.key.bytes), sorted.map(\.value), nowUnixMs)
            return out
        }
    }

    /// An entry that there is room for.
    private struct Admitted {
        var entry: StoreEntry
        /// Keys of its events, and whether an earlier event of the group has the same one.
        var keys: [(key: SeenKey?, isRepeated: Bool)] = []
        var untilNs: UInt64
        var done: @Sendable (StoreAnswer) -> Void
    }

    /// Adds the deliveries of a group's entries to what is written, without those of events that were seen.
    func append(
        _ group: Group, _ transaction: Transaction, _ drafts: inout Drafts,
        _ rows: inout DeliveryRows, _ given: inout Set<Int64>, nowUnixMs: Int64
    ) throws(TransactionFault) {
        var keys = Keys()
        let entries = admit(group, &keys, nowUnixMs: nowUnixMs)
        guard !entries.isEmpty else { return }
        let new = try see(keys, group, transaction, nowUnixMs: nowUnixMs)
        let arrivals = entries.map { admitted in
            zip(admitted.entry.items, admitted.keys).map { item, known in
                Arrival(
                    item, receivedUnixMs: admitted.entry.receivedUnixMs,
                    isKnown: known.isRepeated || known.key.flatMap { new?.contains($0) } == false)
            }
        }
        try count(arrivals.joined().filter { !$0.isKnown }, group, transaction)
        var reports = Reports()
        for (admitted, arrivals) in zip(entries, arrivals) {
            var commit = StoreCommit(token: life.token)
            for (index, arrival) in arrivals.enumerated() {
                group.note(arrival.item.history, isDuplicate: arrival.isKnown)
                guard !arrival.isKnown else {
                    commit.duplicates.insert(index)
                    continue
                }
                if !arrival.item.badges.isEmpty { commit.badges[index] = arrival.numbers }
                add(arrival, group, &drafts, &rows, &reports, &given, nowUnixMs: nowUnixMs)
            }
            group.replies.append { [commit] in
                if admitted.untilNs > group.lateNs { admitted.done(.committed(commit)) }
            }
        }
        send(reports, group, transaction, &rows)
    }

    /// The entries of a group that there is room for, and the keys of their events.
    private func admit(_ group: Group, _ keys: inout Keys, nowUnixMs: Int64) -> [Admitted] {
        var out: [Admitted] = []
        // Events that were already answered are not stored by a retry.
        for case .append(let entry, let untilNs, let done) in group.jobs
        where untilNs > group.lateNs {
            guard hasPlace(for: entry, group) else {
                group.replies.append { if untilNs > group.lateNs { done(.full) } }
                continue
            }
            var admitted = Admitted(entry: entry, untilNs: untilNs, done: done)
            for item in entry.items {
                // Of a duplicate they are those of an event that nobody hears of.
                for claim in item.shown {
                    _ = keys.add(
                        SeenKey(seed: seed, OpenClaim.shown, claim.key),
                        untilUnixMs: nowUnixMs + Int64(OpenClaim.lifeMs))
                }
                let windowMs = item.dedupeMs ?? entry.dedupeMs
                guard !item.event.dedupe.isEmpty, windowMs > 0 else {
                    admitted.keys.append((nil, false))
                    continue
                }
                let key = SeenKey(seed: seed, item.event.source, item.event.dedupe)
                let isNew = keys.add(key, untilUnixMs: nowUnixMs + Int64(clamping: windowMs))
                admitted.keys.append((key, !isNew))
            }
            out.append(admitted)
        }
        return out
    }

    /// Stores keys. Returns the new ones; nil if all are assumed new, and the transaction fails if one is not.
    private func see(
        _ keys: Keys, _ group: Group, _ transaction: Transaction, nowUnixMs: Int64
    ) throws(TransactionFault) -> Set<SeenKey>? {
        guard !keys.isEmpty else { return nil }
        var values = keys.parameters(nowUnixMs: nowUnixMs)
        guard group.asksFirst else {
            values.add(Int64(keys.count))
            transaction.send(QueueSQL.seeNew, values)
            return nil
        }
        let rows = try group.run(transaction, QueueSQL.see, values)
        return Set((0..<rows.count).map { SeenKey(rows.bytes($0, 0)) })
    }

    private func hasPlace(for entry: StoreEntry, _ group: Group) -> Bool {
        let count = entry.items.reduce(0) { $0 + $1.deliveries.count }
        let waiting = shared.waiting.load(ordering: .relaxed) + group.delta + group.appended
        guard entry.isFromOutbox || waiting + count <= options.waitingMax else { return false }
        group.appended += count
        return true
    }

    /// Counts badges, in the order of their events.
    private func count(
        _ arrivals: [Arrival], _ group: Group, _ transaction: Transaction
    ) throws(TransactionFault) {
        let counting = arrivals.filter { !$0.item.badges.isEmpty }
        guard !counting.isEmpty else { return }
        for arrival in counting {
            for step in arrival.item.badges {
                let (statement, values) = BadgeTable.step(step.number, of: step.user)
                group.ask(transaction, Statement(statement), Parameters(values)) { rows in
                    arrival.numbers.append(
                        rows.count == 0 ? nil : Int32(clamping: rows.number(0, 0)))
                }
            }
        }
        try group.finish(transaction)
        for arrival in counting {
            for (step, number) in zip(arrival.item.badges, arrival.numbers) {
                guard let number else { continue }
                for place in step.places { arrival.item.deliveries[place].badge = number }
            }
        }
    }

    /// Reports of a group; of several reports about one device, the last counts.
    private struct Reports {
        var places: [[String]: Int] = [:]
        var all: [(delivery: Delivery, lane: Int64, owner: Int64, due: Int64, received: UInt64)?] =
            []
    }

    private func add(
        _ arrival: Arrival, _ group: Group, _ drafts: inout Drafts, _ rows: inout DeliveryRows,
        _ reports: inout Reports, _ given: inout Set<Int64>, nowUnixMs: Int64
    ) {
        let until = nowUnixMs + Int64(clamping: options.leaseMs)
        for delivery in arrival.item.deliveries {
            guard let lane = lanes[LaneKey(delivery)] else { continue }
            let isTaken = arrival.item.taken.contains(delivery.id)
            let (owner, due) = isTaken ? (life.number, until) : (0, nowUnixMs)
            if !isTaken { given.insert(lane) }
            group.delta += 1
            if let wait = arrival.item.waitsMs[delivery.id] {
                rows.add(
                    delivery, receivedUnixMs: arrival.receivedUnixMs, lane: lane,
                    due: nowUnixMs + Int64(clamping: wait), owner: 0)
                continue
            }
            guard delivery.kind == .report else {
                drafts.add(
                    delivery, receivedUnixMs: arrival.receivedUnixMs, lane: lane, due: due,
                    owner: owner)
                continue
            }
            let key = ["\(lane)", delivery.stableID]
            if let old = reports.places[key] {
                reports.all[old] = nil
                group.delta -= 1
            }
            reports.places[key] = reports.all.count
            reports.all.append((delivery, lane, owner, due, arrival.receivedUnixMs))
        }
    }

    private func send(
        _ reports: Reports, _ group: Group, _ transaction: Transaction, _ rows: inout DeliveryRows
    ) {
        let all = reports.all.compactMap { $0 }
        guard !all.isEmpty else { return }
        let values = Parameters(all.map(\.lane), all.map(\.delivery.stableID))
        group.ask(transaction, QueueSQL.supersede, values) { group.delta -= $0.count }
        for (delivery, lane, owner, due, received) in all {
            rows.add(delivery, receivedUnixMs: received, lane: lane, due: due, owner: owner)
        }
    }
}
