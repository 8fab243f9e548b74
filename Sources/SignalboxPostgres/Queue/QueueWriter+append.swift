internal import SignalboxCore
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
            var out = Parameters()
            out.add(sorted.map(\.key.bytes))
            out.add(sorted.map(\.value))
            out.add(nowUnixMs)
            return out
        }
    }

    /// Adds the deliveries of a group's entries to what is written, without those of events that were seen.
    func append(
        _ group: Group, _ transaction: Transaction, _ drafts: inout Drafts,
        _ rows: inout DeliveryRows, _ given: inout Set<Int64>, nowUnixMs: Int64
    ) throws(TransactionFault) {
        var keys = Keys()
        /// nil: all.
        var new: Set<SeenKey>?
        typealias Place = (Int, SeenKey?, isRepeated: Bool)
        var entries: [(StoreEntry, [Place], UInt64, @Sendable (StoreAnswer) -> Void)] = []
        // Those that were answered already are not stored by another try.
        for case .append(let entry, let untilNs, let done) in group.jobs
        where untilNs > group.lateNs {
            guard hasPlace(for: entry, group) else {
                group.replies.append { if untilNs > group.lateNs { done(.full) } }
                continue
            }
            var items: [Place] = []
            for (index, item) in entry.items.enumerated() {
                // Of a duplicate they are those of an event that nobody hears of.
                for claim in item.shown {
                    _ = keys.add(
                        SeenKey(seed: seed, OpenClaim.shown, claim.key),
                        untilUnixMs: nowUnixMs + Int64(OpenClaim.lifeMs))
                }
                let windowMs = item.dedupeMs ?? entry.dedupeMs
                guard !item.event.dedupe.isEmpty, windowMs > 0 else {
                    items.append((index, nil, false))
                    continue
                }
                let key = SeenKey(seed: seed, item.event.source, item.event.dedupe)
                let isNew = keys.add(key, untilUnixMs: nowUnixMs + Int64(clamping: windowMs))
                items.append((index, key, !isNew))
            }
            entries.append((entry, items, untilNs, done))
        }
        guard !entries.isEmpty else { return }
        if !keys.isEmpty {
            var values = keys.parameters(nowUnixMs: nowUnixMs)
            if group.asksFirst {
                let rows = try group.run(transaction, QueueSQL.see, values)
                new = Set((0..<rows.count).map { SeenKey(rows.bytes($0, 0)) })
            } else {
                values.add(Int64(keys.count))
                transaction.send(QueueSQL.seeNew, values)
            }
        }
        var arrivals: [[Arrival]] = []
        for (entry, items, _, _) in entries {
            arrivals.append(
                items.map { index, key, isRepeated in
                    Arrival(
                        entry.items[index], receivedUnixMs: entry.receivedUnixMs,
                        isKnown: isRepeated || key.flatMap { new?.contains($0) } == false)
                })
        }
        try count(arrivals.joined().filter { !$0.isKnown }, group, transaction)
        var reports = Reports()
        for ((_, _, untilNs, done), arrivals) in zip(entries, arrivals) {
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
                if untilNs > group.lateNs { done(.committed(commit)) }
            }
        }
        send(reports, group, transaction, &rows)
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
                BadgeTables.ask(step.number, of: step.user, group, transaction) {
                    arrival.numbers.append($0)
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

    /// Reports of a group; of several about one device the last counts.
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
        var values = Parameters()
        values.add(all.map(\.lane))
        values.add(all.map(\.delivery.stableID))
        group.ask(transaction, QueueSQL.supersede, values) { group.delta -= $0.count }
        for (delivery, lane, owner, due, received) in all {
            rows.add(delivery, receivedUnixMs: received, lane: lane, due: due, owner: owner)
        }
    }
}
