public import SignalboxCore

extension PostgresStore: KeyValueStore {
    private static let get = Statement(
        "value",
        """
        SELECT value FROM signalbox.value WHERE instance = $1::text AND key = $2::text
          AND (expires IS NULL OR expires > $3::bigint)
        """)
    private static let list = Statement(
        "values",
        """
        SELECT key, value FROM signalbox.value WHERE instance = $1::text
          AND (expires IS NULL OR expires > $2::bigint)
        """)
    private static let put = Statement(
        "set_value",
        """
        INSERT INTO signalbox.value (instance, key, value, expires)
        VALUES ($1::text, $2::text, $3::bytea, $4::bigint)
        ON CONFLICT (instance, key) DO UPDATE SET value = excluded.value, expires = excluded.expires
        """)
    private static let keys = Statement(
        "value_keys",
        """
        SELECT key FROM signalbox.value
        WHERE instance = $1::text AND starts_with(key, $2::text) AND key COLLATE "C" > $3::text
          AND (expires IS NULL OR expires > $4::bigint)
        ORDER BY key COLLATE "C" LIMIT $5::bigint
        """)
    /// Nobody else changes the row until this transaction has ended.
    private static let hold = Statement(
        "hold_value",
        """
        SELECT value, expires FROM signalbox.value WHERE instance = $1::text AND key = $2::text
        FOR UPDATE
        """)
    private static let make = Statement(
        "make_value",
        """
        INSERT INTO signalbox.value (instance, key, value, expires)
        VALUES ($1::text, $2::text, $3::bytea, $4::bigint)
        ON CONFLICT (instance, key) DO NOTHING RETURNING 1
        """)
    private static let remove = Statement(
        "remove_value",
        "DELETE FROM signalbox.value WHERE instance = $1::text AND key = $2::text")

    /// The value of a key, or nil.
    public func value(
        instance: String, key: String,
        done: @escaping @Sendable (Result<[UInt8]?, StoreFailure>) -> Void
    ) {
        look(
            { link, deadline throws(PostgresFault) in
                var values = Parameters()
                values.add(instance)
                values.add(key)
                values.add(self.clock.nowUnixMs)
                let rows = try link.run(Self.get, values, byNs: deadline)
                return rows.count == 0 ? nil : Array(rows.bytes(0, 0))
            }, done: done)
    }

    /// All keys of an instance with their values.
    public func values(
        instance: String,
        done: @escaping @Sendable (Result<[String: [UInt8]], StoreFailure>) -> Void
    ) {
        look(
            { link, deadline throws(PostgresFault) in
                var parameters = Parameters()
                parameters.add(instance)
                parameters.add(self.clock.nowUnixMs)
                let rows = try link.run(Self.list, parameters, byNs: deadline)
                return (0..<rows.count).reduce(into: [:]) {
                    $0[rows.text($1, 0)] = Array(rows.bytes($1, 1))
                }
            }, done: done)
    }

    /// Keeps a value, or removes it.
    public func set(
        instance: String, key: String, value: [UInt8]?, forMs: UInt64?,
        done: @escaping @Sendable (Result<Void, StoreFailure>) -> Void
    ) {
        change(
            { transaction in
                var values = Parameters()
                values.add(instance)
                values.add(key)
                guard let value else {
                    transaction.send(Self.remove, values)
                    return
                }
                values.add(value)
                values.add(forMs.map { self.clock.nowUnixMs + Int64(clamping: $0) })
                transaction.send(Self.put, values)
            }, done: done)
    }

    /// Keys of an instance, in order.
    public func keys(
        instance: String, prefix: String, after: String, limit: Int,
        done: @escaping @Sendable (Result<[String], StoreFailure>) -> Void
    ) {
        look(
            { link, deadline throws(PostgresFault) in
                var parameters = Parameters()
                parameters.add(instance)
                parameters.add(prefix)
                parameters.add(after)
                parameters.add(self.clock.nowUnixMs)
                parameters.add(Int64(limit))
                let rows = try link.run(Self.keys, parameters, byNs: deadline)
                return (0..<rows.count).map { rows.text($0, 0) }
            }, done: done)
    }

    /// Changes a value in dependence of what is stored.
    public func edit(
        instance: String, key: String, _ edit: KeyValueEdit,
        done: @escaping @Sendable (Result<KeyValueEdited, StoreFailure>) -> Void
    ) {
        change(
            { transaction throws(TransactionFault) in
                let now = self.clock.nowUnixMs
                var place = Parameters()
                place.add(instance)
                place.add(key)
                // A second round only if another gateway makes the key between the look and the change.
                while true {
                    let rows = try transaction.run(Self.hold, place)
                    let isThere = rows.count > 0
                    let kept = isThere ? rows.optional(0, 1) : nil
                    let isAlive = isThere && (kept.map { $0 > now } ?? true)
                    let stored = isAlive ? Array(rows.bytes(0, 0)) : nil
                    guard let effect = edit.effect(on: stored) else {
                        return KeyValueEdited(isDone: false, value: stored)
                    }
                    let edited = KeyValueEdited(isDone: true, value: effect.value)
                    guard let value = effect.value else {
                        if isThere { transaction.send(Self.remove, place) }
                        return edited
                    }
                    var values = place
                    values.add(value)
                    values.add(effect.forMs.map { $0.map { now + Int64(clamping: $0) } } ?? kept)
                    if isThere {
                        transaction.send(Self.put, values)
                        return edited
                    }
                    if try transaction.run(Self.make, values).count > 0 { return edited }
                }
            }, done: done)
    }
}
