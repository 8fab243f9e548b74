public import SignalboxCore

/// The statements of the badge counters.
public enum BadgeTable {
    private static func change(_ name: String, _ number: String) -> TableStatement {
        TableStatement(
            name,
            """
            INSERT INTO signalbox.badge AS b (app, user_id, number)
            SELECT $1, $2, $3 WHERE EXISTS (
              SELECT 1 FROM signalbox.device WHERE user_id = $2 AND app = $1)
            ON CONFLICT (app, user_id) DO UPDATE SET number = \(number) RETURNING number
            """)
    }

    private static let count = change(
        "count_badge", "least(least(greatest(b.number, 0), 2147483646) + $3, 2147483647)")
    private static let set = change("set_badge", "excluded.number")

    static let ofUser = TableStatement(
        "badges",
        """
        SELECT app, user_id, number FROM signalbox.badge
        WHERE user_id = $1 AND ($2 = '' OR app = $2)
        """)

    /// Sets a counter to a number, or increments it. One row with the new number; none if the user has no device.
    public static func step(
        _ given: Int32?, of user: UserKey
    ) -> (statement: TableStatement, values: [TableValue]) {
        (
            given == nil ? count : set,
            [.text(user.app), .text(user.user), .number(Int64(given ?? 1))]
        )
    }

    /// The counter after a step; nil if the user has no device.
    public static func number(
        after given: Int32?, of user: UserKey, _ link: any TableLink
    ) throws -> Int32? {
        let (statement, values) = step(given, of: user)
        return try link.all(statement, values) { Int32(clamping: $0.number(0)) }.first
    }
}
