internal import SignalboxCore

/// The statements of plugins' values.
enum ValueTable {
    private static let isAlive = "(expires IS NULL OR expires > $3)"

    static let get = TableStatement(
        "value",
        "SELECT value FROM signalbox.value WHERE instance = $1 AND key = $2 AND \(isAlive)")
    static let list = TableStatement(
        "values",
        """
        SELECT key, value FROM signalbox.value
        WHERE instance = $1 AND (expires IS NULL OR expires > $2)
        """)
    static let put = TableStatement(
        "put_value",
        """
        \(Tables.value.insert().postgres)
        ON CONFLICT (instance, key) DO UPDATE SET value = excluded.value, expires = excluded.expires
        """)
    static let remove = TableStatement(
        "remove_value", "DELETE FROM signalbox.value WHERE instance = $1 AND key = $2")
    /// In the order of bytes, with the index of each engine.
    static let keys = TableStatement(
        "value_keys",
        """
        SELECT key FROM signalbox.value WHERE instance = $1 AND starts_with(key, $2)
          AND \(isAlive) AND key COLLATE "C" > $4
        ORDER BY key COLLATE "C" LIMIT $5
        """,
        sqlite: """
            SELECT key FROM value WHERE instance = $1 AND typeof(key) = 'text' AND key > $4
              AND key >= $2 AND substr(key, 1, length($2)) = $2 AND \(isAlive)
            ORDER BY key LIMIT $5
            """)
    /// Nobody else changes the row until this transaction has ended.
    private static let hold = TableStatement(
        "hold_value",
        "SELECT value, expires FROM signalbox.value WHERE instance = $1 AND key = $2 FOR UPDATE")
    private static let make = TableStatement(
        "make_value",
        "\(Tables.value.insert().postgres) ON CONFLICT (instance, key) DO NOTHING")

    /// When a value ends that is kept for so long.
    static func end(_ nowUnixMs: Int64, _ forMs: UInt64?) -> Int64? {
        forMs.map { Int64(clamping: UInt64(clamping: nowUnixMs) &+ $0) }
    }

    static func edit(
        instance: String, key: String, _ edit: KeyValueEdit, nowUnixMs now: Int64,
        _ link: any TableLink
    ) throws -> KeyValueEdited {
        let place: [TableValue] = [.text(instance), .text(key)]
        // A second round only if another gateway makes the key between the look and the change.
        while true {
            let row = try link.all(hold, place) { ($0.bytes(0), $0.optional(1)) }.first
            let kept = row?.1
            let stored = kept.map { $0 > now } ?? true ? row?.0 : nil
            guard let effect = edit.effect(on: stored) else {
                return KeyValueEdited(isDone: false, value: stored)
            }
            let edited = KeyValueEdited(isDone: true, value: effect.value)
            guard let value = effect.value else {
                if row != nil { try link.send(remove, place) }
                return edited
            }
            let expires = effect.forMs.map { end(now, $0) } ?? kept
            let values = place + [.bytes(value), .number(expires)]
            if row != nil {
                try link.send(put, values)
                return edited
            }
            if try link.change(make, values) > 0 { return edited }
        }
    }
}
