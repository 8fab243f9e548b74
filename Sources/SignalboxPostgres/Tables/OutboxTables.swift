internal import SignalboxCore

/// Reports that were written with a registry change and are not in the queue yet.
enum OutboxTables {
    private static let insert = Statement(
        "write_report",
        """
        INSERT INTO signalbox.outbox (instance, kind, at, reason, subject, event, is_deduped, app, device)
        VALUES ($1::text, $2::bigint, $3::bigint, $4::text, $5::text, $6::bigint, $7::bigint = 1,
          $8::text, $9::bytea)
        """)

    static func write(_ reports: [DeviceReport], _ transaction: Transaction) {
        for report in reports { transaction.send(insert, parameters(report)) }
    }

    private static func parameters(_ report: DeviceReport) -> Parameters {
        let change = report.change
        var values = Parameters()
        values.add(report.instance)
        values.add(Int64(change.kind.rawValue))
        values.add(change.timeUnixMs)
        values.add(change.reason)
        values.add(change.subject)
        values.add(report.eventID)
        values.add(Int64(report.isDeduped ? 1 : 0))
        values.add(change.device.app)
        var record = RecordWriter()
        record.append(change.device)
        values.add(record.bytes)
        return values
    }

    /// Adds an entry of a copy, which keeps its id.
    static func restore(_ entry: OutboxEntry, _ link: PostgresLink) {
        var values = parameters(entry.report)
        values.add(entry.id)
        link.send(
            Statement(
                "",
                """
                INSERT INTO signalbox.outbox (instance, kind, at, reason, subject, event, is_deduped, app,
                  device, id) OVERRIDING SYSTEM VALUE
                VALUES ($1::text, $2::bigint, $3::bigint, $4::text, $5::text, $6::bigint,
                  $7::bigint = 1, $8::text, $9::bytea, $10::bigint)
                """), values)
    }

    static func count(_ transaction: Transaction) throws(TransactionFault) -> Int {
        Int(
            try transaction.run(
                Statement("count_outbox", "SELECT count(*) FROM signalbox.outbox")
            ).number(0, 0))
    }

    /// A report that cannot be read gets an empty device.
    static func read(
        after last: Int64 = 0, max: Int, _ link: PostgresLink, byNs deadlineNs: UInt64
    ) throws(PostgresFault) -> [OutboxEntry] {
        var values = Parameters()
        values.add(Int64(max))
        values.add(last)
        let rows = try link.run(
            Statement(
                "read_outbox",
                """
                SELECT id, instance, kind, at, reason, subject, event, is_deduped, app, device
                FROM signalbox.outbox WHERE id > $2::bigint ORDER BY id LIMIT $1::bigint
                """), values, byNs: deadlineNs)
        return (0..<rows.count).map { row in
            var device = Device()
            if var record = try? RecordReader(rows.bytes(row, 9)),
                let found: Device = try? record.read()
            {
                device = found
            }
            device.app = rows.text(row, 8)
            let change = DeviceChange(
                kind: DeviceChange.Kind(rawValue: UInt32(clamping: rows.number(row, 2)))
                    ?? .invalid,
                device: device, timeUnixMs: UInt64(clamping: rows.number(row, 3)),
                reason: rows.text(row, 4), subject: rows.text(row, 5))
            return OutboxEntry(
                id: UInt64(clamping: rows.number(row, 0)),
                report: DeviceReport(
                    to: rows.text(row, 1), change, eventID: UInt64(clamping: rows.number(row, 6)),
                    isDeduped: rows.number(row, 7) != 0))
        }
    }

    static func remove(_ ids: [UInt64], _ transaction: Transaction) {
        var values = Parameters()
        values.add(ids.map { Int64(clamping: $0) })
        transaction.send(
            Statement(
                "remove_outbox", "DELETE FROM signalbox.outbox WHERE id = ANY ($1::bigint[])"),
            values)
    }
}
