internal import SignalboxCore
internal import SignalboxTables

/// How leases end.
extension QueueWriter {
    /// What happens to one block.
    private struct Change {
        var block: HeldBlock
        var marks = Marks()
    }

    /// Ends of deliveries that have rows of their own.
    private struct RowEnds {
        var delivered: [Int64] = []
        var released: [Int64] = []
        var retried: [(id: Int64, due: Int64, Attempt, isFree: Bool)] = []
        var dead: [(id: Int64, reason: String, Attempt)] = []

        mutating func add(_ end: LeaseEnd, nowUnixMs: Int64) {
            let id = Int64(clamping: end.id)
            switch end {
            case .delivered: delivered.append(id)
            case .released: released.append(id)
            case .retry(_, let afterMs, let attempt, let isFree):
                retried.append((id, nowUnixMs + Int64(clamping: afterMs), attempt, isFree))
            case .dead(_, let reason, let attempt): dead.append((id, reason, attempt))
            }
        }
    }

    /// Sends the statements that end leases. Retried deliveries of blocks get rows, released ones other blocks.
    func settle(
        _ group: Group, _ transaction: Transaction, _ drafts: inout Drafts,
        _ rows: inout DeliveryRows, _ given: inout Set<Int64>, nowUnixMs: Int64
    ) {
        var changes: [Int64: Change] = [:]
        var own = RowEnds()
        var dead: [[TableValue]] = []
        for case .settle(let ends, _, _) in group.jobs {
            for end in ends {
                let end = end.made(by: options.owner)
                guard let held = holdings[end.id] else {
                    own.add(end, nowUnixMs: nowUnixMs)
                    continue
                }
                changes[held.block.id, default: Change(block: held.block)].marks[held.index] = true
                let (id, lane) = (end.id, held.block.lane)
                group.effects.append { self.holdings.remove(id) }
                switch end {
                case .delivered: group.delta -= 1
                case .released:
                    given.insert(lane)
                    drafts.add(
                        held.delivery, receivedUnixMs: held.receivedUnixMs, lane: lane, due: 0,
                        owner: 0)
                case .retry(_, let afterMs, let attempt, let isFree):
                    rows.add(
                        held.delivery, receivedUnixMs: held.receivedUnixMs, lane: lane,
                        due: nowUnixMs + Int64(clamping: afterMs), owner: 0, after: attempt,
                        isFree: isFree)
                case .dead(_, let reason, let attempt):
                    group.delta -= 1
                    let stored = StoredDelivery(
                        held.delivery, receivedUnixMs: held.receivedUnixMs, attempts: [attempt])
                    dead.append(
                        DeadTable.values(
                            stored, .init(reason, unixMs: attempt.unixMs, isDamaged: false)))
                }
            }
        }
        send(changes.values.sorted { $0.block.id < $1.block.id }, group, transaction)
        if !dead.isEmpty { transaction.insert(dead, into: Tables.dead) }
        let found = send(own, group, transaction)
        for case .settle(let ends, _, let done) in group.jobs {
            group.replies.append {
                var refusal = LeaseRefusal()
                if let lost = found.lost(), !lost.isEmpty {
                    refusal.lost = ends.map(\.id).filter { lost.contains($0) }
                }
                done(.success(refusal))
            }
        }
    }

    private func send(_ changes: [Change], _ group: Group, _ transaction: Transaction) {
        var (ended, left): ([Int64], [Int64]) = ([], [])
        var marked: [[Int64]] = Array(repeating: [], count: 6)
        for change in changes {
            group.blocks.append(change.block)
            let count = change.marks.marked
            if change.block.left == count {
                ended.append(change.block.id)
                left.append(Int64(count))
                continue
            }
            let row = [change.block.id, Int64(count)] + change.marks.numbers
            for (index, number) in row.enumerated() { marked[index].append(number) }
        }
        if !ended.isEmpty {
            let values = Parameters(life.number, ended, left, Int64(ended.count))
            transaction.send(QueueSQL.endBlocks, values)
        }
        guard !marked[0].isEmpty else { return }
        var values = Parameters(life.number)
        for column in marked { values.add(column) }
        values.add(Int64(marked[0].count))
        transaction.send(QueueSQL.markBlocks, values)
    }

    /// What the statements on rows found.
    private final class Found {
        var asked: Set<UInt64> = []
        var found: Set<UInt64> = []
        var answers = 0
        var questions = 0

        /// nil if the answers were lost with the connection, although the commit succeeded.
        func lost() -> Set<UInt64>? { answers == questions ? asked.subtracting(found) : nil }
    }

    private func send(_ ends: RowEnds, _ group: Group, _ transaction: Transaction) -> Found {
        let found = Found()
        func ask(
            _ statement: Statement, _ ids: [Int64], endsThem: Bool,
            _ add: (inout Parameters) -> Void
        ) {
            guard !ids.isEmpty else { return }
            var values = Parameters(life.number, ids)
            add(&values)
            found.asked.formUnion(ids.map { UInt64(clamping: $0) })
            found.questions += 1
            group.ask(transaction, statement, values) { rows in
                found.answers += 1
                for row in 0..<rows.count {
                    found.found.insert(UInt64(clamping: rows.number(row, 0)))
                }
                if endsThem { group.delta -= rows.count }
            }
        }
        ask(QueueSQL.endRows, ends.delivered, endsThem: true) { _ in }
        ask(QueueSQL.releaseRows, ends.released, endsThem: false) { _ in }
        if !ends.released.isEmpty, options.hasNotices {
            let values = Parameters("\(life.number):", ends.released)
            transaction.send(QueueSQL.notifyReleased, values)
        }
        ask(QueueSQL.retryRows, ends.retried.map(\.id), endsThem: false) { values in
            values.add(ends.retried.map(\.due))
            values.add(ends.retried.map { Int64($0.2.number) + 1 })
            values.add(ends.retried.map { Int64($0.isFree ? 1 : 0) })
            values.add(ends.retried.map(\.2.reason))
            values.add(ends.retried.map(\.2.record))
        }
        ask(QueueSQL.buryRows, ends.dead.map(\.id), endsThem: true) { values in
            values.add(ends.dead.map { Int64(clamping: $0.2.unixMs) })
            values.add(ends.dead.map(\.reason))
            values.add(ends.dead.map(\.2.record))
        }
        return found
    }
}
