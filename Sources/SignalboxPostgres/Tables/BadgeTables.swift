internal import SignalboxCore

/// The badge counters: a row per user with devices, removed with the user's last device.
enum BadgeTables {
    private static func change(_ name: String, _ number: String) -> Statement {
        Statement(
            name,
            """
            INSERT INTO signalbox.badge AS b (app, user_id, number)
            SELECT $1::text, $2::text, $3::bigint WHERE EXISTS (
              SELECT 1 FROM signalbox.device WHERE user_id = $2::text AND app = $1::text)
            ON CONFLICT (app, user_id) DO UPDATE SET number = \(number) RETURNING number
            """)
    }

    private static let count = change(
        "count_badge", "least(least(greatest(b.number, 0), 2147483646) + $3::bigint, 2147483647)")
    private static let set = change("set_badge", "excluded.number")

    private static func parameters(_ given: Int32?, _ user: UserKey) -> Parameters {
        var out = Parameters()
        out.add(user.app)
        out.add(user.user)
        out.add(Int64(given ?? 1))
        return out
    }

    private static func number(_ rows: Rows) -> Int32? {
        rows.count == 0 ? nil : Int32(clamping: rows.number(0, 0))
    }

    /// Sets or increments a counter, and reads it; nil if the user has no device.
    static func ask(
        _ given: Int32?, of user: UserKey, _ group: Group, _ transaction: Transaction,
        _ read: @escaping (Int32?) -> Void
    ) {
        group.ask(transaction, given == nil ? count : set, parameters(given, user)) {
            read(number($0))
        }
    }

    static func set(
        _ number: Int32, of user: UserKey, _ transaction: Transaction
    ) throws(TransactionFault) -> Bool {
        Self.number(try transaction.run(set, parameters(number, user))) != nil
    }
}
