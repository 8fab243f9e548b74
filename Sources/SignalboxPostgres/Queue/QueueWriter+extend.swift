internal import SignalboxCore

/// Longer leases.
extension QueueWriter {
    /// Extends leases.
    func extend(
        _ ids: [UInt64], untilUnixMs: Int64, _ group: Group, _ transaction: Transaction
    ) throws(TransactionFault) -> LeaseRefusal {
        var blocks: [Int64: HeldBlock] = [:]
        var rows: [Int64] = []
        for id in ids {
            if let held = holdings[id] {
                blocks[held.block.id] = held.block
            } else {
                rows.append(Int64(clamping: id))
            }
        }
        var marks: [Int64: Marks] = [:]
        var known: Set<UInt64> = []
        if !blocks.isEmpty {
            group.ask(
                transaction, QueueSQL.extendBlocks,
                lease(blocks.keys.sorted(), untilUnixMs: untilUnixMs)
            ) { found in
                for row in 0..<found.count {
                    marks[found.number(row, 0)] = Marks(found, row, from: 1)
                }
            }
        }
        if !rows.isEmpty {
            group.ask(transaction, QueueSQL.extendRows, lease(rows, untilUnixMs: untilUnixMs)) {
                found in
                for row in 0..<found.count { known.insert(UInt64(clamping: found.number(row, 0))) }
            }
        }
        try group.finish(transaction)
        var refusal = LeaseRefusal()
        refusal.lost = ids.filter { id in
            guard let held = holdings[id] else { return !known.contains(id) }
            return marks[held.block.id].map { $0[held.index] } ?? true
        }
        let found = marks
        group.effects.append {
            self.holdings.refresh(Array(blocks.values), found)
            for id in found.keys { blocks[id]?.untilUnixMs = untilUnixMs }
        }
        return refusal
    }
}
