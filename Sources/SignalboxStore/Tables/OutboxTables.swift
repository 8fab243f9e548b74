internal import Foundation
internal import GRDB
internal import SignalboxCore

/// Reports that were written with a registry change and are not in the queue yet.
enum OutboxTables {
    /// At most how many there are; they are removed in order.
    static func count(_ db: Database) throws -> Int {
        try Int.fetchOne(
            db,
            sql: """
                SELECT coalesce(max(id) - min(id) + 1, 0) FROM outbox
                WHERE id BETWEEN 0 AND \(StoredNumber.max)
                """) ?? 0
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

    /// The oldest reports. `damaged`: ids of those that cannot be read.
    static func read(
        after last: Int64 = 0, max: Int, _ db: Database
    ) throws -> (entries: [OutboxEntry], damaged: [Int64]) {
        let select = try db.cachedStatement(
            sql: "SELECT * FROM outbox WHERE id > ? ORDER BY id LIMIT ?")
        var (entries, damaged): ([OutboxEntry], [Int64]) = ([], [])
        for row in try Row.fetchAll(select, arguments: [last, max]) {
            do {
                entries.append(try entry(row))
            } catch is RowFault {
                damaged.append(try row.number("id"))
            }
        }
        return (entries, damaged)
    }

    private static func entry(_ row: Row) throws -> OutboxEntry {
        guard let kind = DeviceChange.Kind(rawValue: UInt32(clamping: try row.number("kind"))),
            let device = RowCodec.device(row.value("device"))
        else { throw RowFault(column: "device") }
        let change = DeviceChange(
            kind: kind, device: device, timeUnixMs: try row.time("at"),
            reason: try row.text("reason"), subject: try row.text("subject"))
        return OutboxEntry(
            id: try row.unsigned("id"),
            report: DeviceReport(
                to: try row.text("instance"), change, eventID: try row.unsigned("event"),
                isDeduped: try row.number("deduped") != 0))
    }

    /// The oldest reports; those that cannot be read are removed, since they would be the oldest for good.
    static func take(
        max: Int, _ damage: DamagedRows, _ db: Database
    ) throws -> [OutboxEntry] {
        while true {
            let (entries, damaged) = try read(max: max, db)
            for id in damaged {
                damage.note("outbox", id)
                try db.execute(sql: "DELETE FROM outbox WHERE id = ?", arguments: [id])
            }
            if !entries.isEmpty || damaged.isEmpty { return entries }
        }
    }

    static func remove(through id: UInt64, _ db: Database) throws {
        try db.cachedStatement(sql: "DELETE FROM outbox WHERE id <= ?").execute(arguments: [
            Int64(clamping: id)
        ])
    }
}
