public import SignalboxCore

/// The statements of the outbox.
public enum OutboxTable {
    private static let insert = Tables.outbox.insert(withoutFirst: true)
    /// Ids are removed in order, so that SQLite need not count.
    private static let count = TableStatement(
        "count_outbox", "SELECT count(*) FROM signalbox.outbox",
        sqlite: """
            SELECT coalesce(max(id) - min(id) + 1, 0) FROM outbox
            WHERE id BETWEEN 0 AND \(StoredNumber.max)
            """)
    private static let oldest = TableStatement(
        "read_outbox", "SELECT \(Tables.outbox.names) FROM signalbox.outbox ORDER BY id LIMIT $1")
    private static let removeOne = TableStatement(
        "remove_outbox", "DELETE FROM signalbox.outbox WHERE id = $1")

    /// How many entries there are at most.
    static func count(_ link: any TableLink) throws -> Int { Int(try link.number(count)) }

    /// Adds reports.
    static func write(_ reports: [DeviceReport], _ link: any TableLink) throws {
        for report in reports { try link.send(insert, values(report)) }
    }

    /// The oldest entries. One that is damaged has a nil report.
    public static func read(
        max: Int, _ link: any TableLink
    ) throws -> [(id: Int64, entry: OutboxEntry?)] {
        try link.all(oldest, [.number(Int64(max))]) { ($0.number(0), entry($0)) }
    }

    /// Removes entries.
    public static func remove(_ ids: some Sequence<Int64>, _ link: any TableLink) throws {
        for id in ids { try link.send(removeOne, [.number(id)]) }
    }

    static func values(_ report: DeviceReport) -> [TableValue] {
        let change = report.change
        return [
            .text(report.instance), .number(Int64(change.kind.rawValue)),
            .number(clamping: change.timeUnixMs), .text(change.reason), .text(change.subject),
            .number(clamping: report.eventID), .number(report.isDeduped ? 1 : 0),
            .text(change.device.app), .record(change.device),
        ]
    }

    /// nil: the row is damaged.
    static func entry(_ row: any TableRow) -> OutboxEntry? {
        guard Tables.outbox.isSound(row), let id = row.unsigned(0),
            let kind = DeviceChange.Kind(rawValue: UInt32(clamping: row.number(2))),
            let event = row.unsigned(6), var device: Device = row.record(9)
        else { return nil }
        device.app = row.text(8)
        let change = DeviceChange(
            kind: kind, device: device, timeUnixMs: row.time(3), reason: row.text(4),
            subject: row.text(5))
        return OutboxEntry(
            id: id,
            report: DeviceReport(
                to: row.text(1), change, eventID: event, isDeduped: row.number(7) != 0))
    }
}
