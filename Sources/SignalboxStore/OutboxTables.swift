internal import Foundation
internal import GRDB
internal import SignalboxCore

/// Reports that were written with a registry change and are not in the queue yet.
enum OutboxTables {
    /// Older versions marked lanes of reports by a suffix of the sender's name.
    static let schema = """
        CREATE TABLE outbox (
          id INTEGER PRIMARY KEY AUTOINCREMENT, instance TEXT NOT NULL, kind INTEGER NOT NULL,
          at INTEGER NOT NULL, reason TEXT NOT NULL, subject TEXT NOT NULL, event INTEGER NOT NULL,
          deduped INTEGER NOT NULL, app TEXT NOT NULL, device BLOB NOT NULL);
        CREATE TABLE lane_by_kind (
          id INTEGER PRIMARY KEY, sender TEXT NOT NULL, app TEXT NOT NULL, kind INTEGER NOT NULL,
          UNIQUE (sender, app, kind));
        INSERT INTO lane_by_kind SELECT id, replace(sender, '#register', ''), app,
          sender LIKE '%#register' FROM lane;
        DROP TABLE lane;
        ALTER TABLE lane_by_kind RENAME TO lane;
        ALTER TABLE dead ADD COLUMN kind INTEGER NOT NULL DEFAULT 0;
        UPDATE dead SET kind = 1, sender = replace(sender, '#register', '')
          WHERE sender LIKE '%#register';
        """

    /// At most how many there are; they are removed in order.
    static func count(_ db: Database) throws -> Int {
        try Int.fetchOne(db, sql: "SELECT coalesce(max(id) - min(id) + 1, 0) FROM outbox") ?? 0
    }

    /// Writes reports; with `id` the only one gets this id.
    static func write(_ reports: [DeviceReport], id: UInt64? = nil, _ db: Database) throws {
        guard !reports.isEmpty else { return }
        let insert = try db.cachedStatement(
            sql: """
                INSERT INTO outbox (id, instance, kind, at, reason, subject, event, deduped, app, device)
                VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
                """)
        for report in reports {
            let change = report.change
            try insert.execute(arguments: [
                id.map { Int64(clamping: $0) }, report.instance, Int64(change.kind.rawValue),
                Int64(clamping: change.timeUnixMs),
                change.reason, change.subject, Int64(clamping: report.eventID), report.isDeduped,
                change.device.app, Data(RowCodec.bytes(change.device)),
            ])
        }
    }

    /// A report that cannot be read gets an empty device.
    static func read(
        after last: Int64 = 0, max: Int, _ db: Database
    ) throws -> [OutboxEntry] {
        let select = try db.cachedStatement(
            sql: "SELECT * FROM outbox WHERE id > ? ORDER BY id LIMIT ?")
        return try Row.fetchAll(select, arguments: [last, max]).map { row in
            let (id, at, event): (Int64, Int64, Int64) = (row["id"], row["at"], row["event"])
            let number: Int64 = row["kind"]
            let device = RowCodec.device(row["device"], app: row["app"]) ?? Device()
            let change = DeviceChange(
                kind: DeviceChange.Kind(rawValue: UInt32(clamping: number)) ?? .invalid,
                device: device, timeUnixMs: UInt64(clamping: at), reason: row["reason"],
                subject: row["subject"])
            return OutboxEntry(
                id: UInt64(clamping: id),
                report: DeviceReport(
                    to: row["instance"], change, eventID: UInt64(clamping: event),
                    isDeduped: row["deduped"]))
        }
    }

    static func remove(through id: UInt64, _ db: Database) throws {
        try db.cachedStatement(sql: "DELETE FROM outbox WHERE id <= ?").execute(arguments: [
            Int64(clamping: id)
        ])
    }
}
