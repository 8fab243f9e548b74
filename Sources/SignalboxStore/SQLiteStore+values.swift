internal import Foundation
internal import GRDB
public import SignalboxCore

extension SQLiteStore: KeyValueStore {
    /// The value of a key, or nil.
    public func value(
        instance: String, key: String,
        done: @escaping @Sendable (Result<[UInt8]?, StoreFailure>) -> Void
    ) {
        let nowUnixMs = nowUnixMs()
        submitWork(
            { db in
                let row = try Row.fetchOne(
                    db.cachedStatement(
                        sql: "SELECT value, expires FROM value WHERE instance = ? AND key = ?"),
                    arguments: [instance, key])
                guard let row else { return nil }
                let expires = try? row.optional("expires")
                if let expires, expires <= Int64(clamping: nowUnixMs) { return nil }
                return (try? row.bytes("value")).map { Array($0) }
            }, done: done)
    }

    /// All keys of an instance with their values.
    public func values(
        instance: String,
        done: @escaping @Sendable (Result<[String: [UInt8]], StoreFailure>) -> Void
    ) {
        let now = Int64(clamping: nowUnixMs())
        submitWork(
            { db in
                let rows = try Row.fetchAll(
                    db.cachedStatement(
                        sql: """
                            SELECT key, value FROM value
                            WHERE instance = ? AND (expires IS NULL OR expires > ?)
                            """), arguments: [instance, now])
                var values: [String: [UInt8]] = [:]
                for row in rows {
                    guard let key = try? row.text("key"), let value = try? row.bytes("value")
                    else { continue }
                    values[key] = Array(value)
                }
                return values
            }, done: done)
    }

    /// Keeps a value, or removes it.
    public func set(
        instance: String, key: String, value: [UInt8]?, forMs: UInt64?,
        done: @escaping @Sendable (Result<Void, StoreFailure>) -> Void
    ) {
        let expires = forMs.map { Int64(clamping: nowUnixMs() &+ $0) }
        submitWork(
            { db in
                guard let value else {
                    try db.cachedStatement(sql: "DELETE FROM value WHERE instance = ? AND key = ?")
                        .execute(arguments: [instance, key])
                    return
                }
                try db.cachedStatement(
                    sql: """
                        INSERT OR REPLACE INTO value (instance, key, value, expires) VALUES (?, ?, ?, ?)
                        """
                ).execute(arguments: [
                    instance, key, Data(value), expires,
                ])
            }, done: done)
    }

    /// Keys of an instance, in order.
    public func keys(
        instance: String, prefix: String, after: String, limit: Int,
        done: @escaping @Sendable (Result<[String], StoreFailure>) -> Void
    ) {
        let now = Int64(clamping: nowUnixMs())
        submitWork(
            { db in
                try String.fetchAll(
                    db.cachedStatement(
                        sql: """
                            SELECT key FROM value WHERE instance = ? AND typeof(key) = 'text' AND key > ? AND key >= ?
                              AND substr(key, 1, length(?)) = ? AND (expires IS NULL OR expires > ?)
                            ORDER BY key LIMIT ?
                            """),
                    arguments: [instance, after, prefix, prefix, prefix, now, limit])
            }, done: done)
    }

    /// Changes a value in dependence of what is stored.
    public func edit(
        instance: String, key: String, _ edit: KeyValueEdit,
        done: @escaping @Sendable (Result<KeyValueEdited, StoreFailure>) -> Void
    ) {
        let nowUnixMs = nowUnixMs()
        submitWork(
            { db in
                let row = try Row.fetchOne(
                    db.cachedStatement(
                        sql: """
                            SELECT value, expires FROM value WHERE instance = ? AND key = ?
                              AND (expires IS NULL OR expires > ?)
                            """), arguments: [instance, key, Int64(clamping: nowUnixMs)])
                let stored = (try? row?.bytes("value")).map { Array($0) }
                guard let effect = edit.effect(on: stored) else {
                    return KeyValueEdited(isDone: false, value: stored)
                }
                let edited = KeyValueEdited(isDone: true, value: effect.value)
                guard let value = effect.value else {
                    try db.cachedStatement(sql: "DELETE FROM value WHERE instance = ? AND key = ?")
                        .execute(arguments: [instance, key])
                    return edited
                }
                let kept = try? row?.optional("expires")
                let expires =
                    effect.forMs.map { forMs in
                        forMs.map { Int64(clamping: nowUnixMs &+ $0) }
                    } ?? kept
                try db.cachedStatement(
                    sql: """
                        INSERT OR REPLACE INTO value (instance, key, value, expires) VALUES (?, ?, ?, ?)
                        """
                ).execute(arguments: [instance, key, Data(value), expires])
                return edited
            }, done: done)
    }
}
