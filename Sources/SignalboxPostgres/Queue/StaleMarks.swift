internal import SignalboxCore

/// What was accepted in a transaction, and makes older deliveries and dead letters obsolete.
///
/// Only what was tried, or waits for a time, can be overtaken: it has a row of its own, with the keys of `Supersession`.
struct StaleMarks {
    private var shown: [Int64: DeliveryOrder] = [:]
    private var badge: [Int64: DeliveryOrder] = [:]

    init(_ jobs: [QueueJob]) {
        for case .settle(let ends, _, _) in jobs {
            for case .delivered(_, let new?) in ends {
                if let key = new.shown { shown[key] = max(shown[key] ?? new.order, new.order) }
                if let key = new.badge { badge[key] = max(badge[key] ?? new.order, new.order) }
            }
        }
    }

    /// Sent after the rows of what was tried in the same transaction.
    func send(_ transaction: Transaction) {
        for (orders, statement) in [(shown, Self.markShown), (badge, Self.markBadge)]
        where !orders.isEmpty {
            let sorted = orders.sorted { $0.key < $1.key }
            let values = Parameters(
                sorted.map(\.key), sorted.map { Int64(clamping: $0.value.unixMs) },
                sorted.map { Int64(clamping: $0.value.id) })
            transaction.send(statement, values)
        }
    }

    private static let markShown = mark("stale_shown", "shown_key", .shown)
    private static let markBadge = mark("stale_badge", "badge_key", .badge)

    /// A row that another gateway is about to change is left alone: two that wait for each other would end both.
    private static func mark(_ name: String, _ column: String, _ stale: Staleness) -> Statement {
        func older(_ table: String) -> String {
            """
            SELECT d.id FROM new JOIN signalbox.\(table) d
              ON d.\(column) = new.key AND (d.accepted, d.id) < (new.at, new.id)
            WHERE d.stale & \(stale.rawValue) = 0 FOR UPDATE OF d SKIP LOCKED
            """
        }
        return Statement(
            name,
            """
            WITH new AS (SELECT * FROM unnest($1::bigint[], $2::bigint[], $3::bigint[]) AS n (key, at, id)),
              waiting AS (\(older("delivery"))), letters AS (\(older("dead"))),
              marked AS (UPDATE signalbox.delivery d SET stale = d.stale | \(stale.rawValue)
                FROM waiting WHERE d.id = waiting.id)
            UPDATE signalbox.dead d SET stale = d.stale | \(stale.rawValue)
            FROM letters WHERE d.id = letters.id
            """)
    }
}

/// The columns by which rows are found obsolete, for rows that a transaction is about to write; 0 stands for no key.
struct StaleColumns {
    private var numbers: [[Int64]] = Array(repeating: [], count: 4)

    /// nil: of this one nothing is known.
    mutating func add(_ delivery: Delivery?, _ stale: Staleness = []) {
        let own = delivery?.supersession
        let row = [
            own?.shown ?? 0, own?.badge ?? 0, Int64(clamping: delivery?.acceptedUnixMs ?? 0),
            Int64(stale.rawValue),
        ]
        for (index, number) in row.enumerated() { numbers[index].append(number) }
    }

    func put(into values: inout Parameters) { for column in numbers { values.add(column) } }

    static let names = "shown_key, badge_key, accepted, stale"
    static let values = "nullif(shown_key, 0), nullif(badge_key, 0), accepted, stale"
}
