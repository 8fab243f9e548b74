internal import GRDB
internal import SignalboxCore

/// Deliveries and dead letters that a newer delivery makes obsolete.
///
/// Those that have rows of their own have been tried, or wait for a time: only they can be overtaken. Their keys are in the columns
/// `shown_key` and `badge_key`, and `stale` says what of them is obsolete.
struct StaleTables {
    private static let bitsCount = 1 << 20
    /// A bit for each key that a row may have, so that most deliveries cost no search.
    private var bits = [UInt64](repeating: 0, count: bitsCount / 64)

    /// Reads the keys at a start. Of an index that cannot be read, every key is searched.
    mutating func start(_ db: Database) {
        do {
            for table in ["delivery", "dead"] {
                for column in ["shown_key", "badge_key"] {
                    let keys = try Row.fetchCursor(
                        db, sql: "SELECT \(column) AS key FROM \(table) WHERE \(column) IS NOT NULL"
                    )
                    while let row = try keys.next() { note((try? row.number("key")) ?? 0) }
                }
            }
        } catch {
            bits = [UInt64](repeating: .max, count: Self.bitsCount / 64)
        }
    }

    /// A row has these keys from now on.
    mutating func note(_ own: Supersession?) {
        if let key = own?.shown { note(key) }
        if let key = own?.badge { note(key) }
    }

    private mutating func note(_ key: Int64) {
        let place = Int(truncatingIfNeeded: key) & (Self.bitsCount - 1)
        bits[place >> 6] |= 1 << UInt64(place & 63)
    }

    private func has(_ key: Int64) -> Bool {
        let place = Int(truncatingIfNeeded: key) & (Self.bitsCount - 1)
        return bits[place >> 6] & 1 << UInt64(place & 63) != 0
    }

    /// Marks what is older than these.
    func mark(_ accepted: [Supersession], _ hot: HotStatements, _ db: Database) throws {
        for new in accepted {
            if let key = new.shown, has(key) {
                try mark([.staleShown, .staleDeadShown], key, new.order, hot, db)
            }
            if let key = new.badge, has(key) {
                try mark([.staleBadge, .staleDeadBadge], key, new.order, hot, db)
            }
        }
    }

    private func mark(
        _ names: [HotStatements.Name], _ key: Int64, _ order: DeliveryOrder, _ hot: HotStatements,
        _ db: Database
    ) throws {
        for name in names {
            let update = try hot.statement(name, db)
            update.bind(key)
            update.bind(Int64(clamping: order.unixMs))
            update.bind(Int64(clamping: order.id))
            try update.run()
        }
    }
}
