internal import SignalboxCore
internal import SignalboxTables

/// What a lease could not read.
struct Damage {
    var lane: Int64
    var nowUnixMs: Int64
    /// Deliveries with rows of their own.
    var rows: [Int64] = []
    private(set) var blocks: [(block: Int64, lost: Int, left: Int)] = []

    init(lane: Int64, nowUnixMs: Int64) {
        self.lane = lane
        self.nowUnixMs = nowUnixMs
    }

    mutating func add(_ damage: (block: Int64, lost: Int, left: Int)?) {
        if let damage { blocks.append(damage) }
    }

    var attempt: Attempt {
        Attempt(
            number: 1, unixMs: UInt64(clamping: nowUnixMs), reason: "damaged", code: 0,
            detail: "its row in the database cannot be read")
    }
}

extension QueueWriter {
    /// Makes dead letters of what cannot be read: nobody leases it again, and an empty push is worse than none.
    func writeOff(_ damage: Damage, _ group: Group, _ transaction: Transaction) {
        if !damage.rows.isEmpty { bury(damage, group, transaction) }
        var dead: [[TableValue]] = []
        let lane = lanes.keys[damage.lane] ?? LaneKey(sender: "", app: "")
        for (block, lost, left) in damage.blocks {
            for _ in 0..<lost {
                dead.append(DeadTable.lost(UInt64(clamping: nextID()), of: lane, damage.attempt))
            }
            let values = Parameters(block, Int64(left))
            transaction.send(QueueSQL.writeOff, values)
            let one = Parameters(block)
            transaction.send(QueueSQL.dropEmpty, one)
            tell(
                lost,
                "block \(block) of the queue is damaged: \(lost) of its deliveries cannot be read, "
                    + (lost > 0
                        ? "they are dead letters now" : "and its number of deliveries was wrong"),
                group)
        }
        if !dead.isEmpty { transaction.insert(dead, into: Tables.dead) }
    }

    private func bury(_ damage: Damage, _ group: Group, _ transaction: Transaction) {
        let values = Parameters(
            life.number, damage.rows, damage.rows.map { _ in damage.nowUnixMs },
            damage.rows.map { _ in damage.attempt.reason },
            damage.rows.map { _ in damage.attempt.record })
        transaction.send(QueueSQL.buryRows, values)
        for id in damage.rows {
            tell(1, "delivery \(id) is damaged in the database, it is a dead letter now", group)
        }
    }

    private func tell(_ count: Int, _ words: String, _ group: Group) {
        group.delta -= count
        group.replies.append { self.options.onNotice(.damaged(count: count, words)) }
    }
}
