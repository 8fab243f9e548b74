internal import SignalboxCore

extension LaneKey {
    /// From the columns sender, app and kind.
    init(_ rows: Rows, _ row: Int, from column: Int) {
        self.init(
            sender: rows.text(row, column), app: rows.text(row, column + 1),
            kind: DeliveryKind(rawValue: UInt8(clamping: rows.number(row, column + 2))) ?? .push)
    }
}

extension Marks {
    /// From four columns.
    init(_ rows: Rows, _ row: Int, from column: Int) {
        func word(_ index: Int) -> UInt64 { UInt64(bitPattern: rows.number(row, column + index)) }
        self.init(word(0), word(1), word(2), word(3))
    }

    /// For four columns.
    var numbers: [Int64] {
        let words = fourWords
        return [words.0, words.1, words.2, words.3].map { Int64(bitPattern: $0) }
    }
}

/// The numbers of lanes in the database; they never change.
struct LaneNumbers {
    private var numbers: [LaneKey: Int64] = [:]
    private(set) var keys: [Int64: LaneKey] = [:]

    subscript(lane: LaneKey) -> Int64? { numbers[lane] }

    /// Makes lanes, and reads all.
    mutating func learn(
        _ lanes: Set<LaneKey>, _ link: PostgresLink, byNs deadlineNs: UInt64
    ) throws(PostgresFault) {
        for lane in lanes.sorted() {
            let values = Parameters(lane.sender, lane.app, Int64(lane.kind.rawValue))
            link.send(QueueSQL.makeLane, values)
        }
        let place = link.send(QueueSQL.lanes)
        let rows = try link.finish(byNs: deadlineNs)[place]
        for row in 0..<rows.count {
            let key = LaneKey(rows, row, from: 1)
            numbers[key] = rows.number(row, 0)
            keys[rows.number(row, 0)] = key
        }
    }
}
