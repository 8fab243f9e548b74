public import SignalboxCore
internal import SignalboxJSON

/// A table that a copy reads in pages and writes, row by row.
public struct CopiedTable: Sendable {
    /// Outcomes below this number were taken by every receiver.
    static let floor =
        "coalesce((SELECT min(next) FROM signalbox.outcome_receiver), 9223372036854775807)"
    /// The number after a row of outcomes, whose numbers may be damaged.
    public static let outcomesEnd =
        "(least(greatest(first, 0), \(StoredNumber.max)) + least(greatest(count, 0), \(Int32.max)))"

    /// The table.
    public let table: StoreTable
    let rowsMax: Int
    /// Of the rows that are copied.
    var condition = "0 = 0"
    /// What is counted.
    var countSQL = "count(*)"
    /// nil: the row is damaged.
    let read: @Sendable (any TableRow) -> StoredRecord?
    /// A row with all columns; nil if the record is of another kind.
    let row: @Sendable (StoredRecord) -> [TableValue]?

    /// The table of a kind; nil if the engines keep it in different ways.
    public static func of(_ kind: StoredKind) -> CopiedTable? {
        switch kind {
        case .devices: devices
        case .badges: badges
        case .values: values
        case .reports: reports
        case .receivers: receivers
        case .outcomes: outcomes
        case .dead: dead
        case .numbers, .seen, .waiting: nil
        }
    }

    /// How many records of a kind there are.
    public static func counts(_ link: any TableLink) throws -> [StoredKind: Int] {
        try StoredKind.allCases.reduce(into: [:]) { out, kind in
            guard let copied = of(kind) else { return }
            let rows = "signalbox.\(copied.table.name) WHERE \(copied.condition)"
            let count = TableStatement("", "SELECT \(copied.countSQL) FROM \(rows)")
            out[kind] = Int(try link.number(count))
        }
    }

    /// Adds the records of these tables.
    public static func insert(_ records: [StoredRecord], _ link: any TableLink) throws {
        for kind in StoredKind.allCases {
            guard let copied = of(kind) else { continue }
            let rows = records.compactMap(copied.row)
            if !rows.isEmpty { try link.insert(rows, into: copied.table) }
        }
    }

    /// The rows after a place, which is the JSON array of the last row's key.
    public func page(after: String, _ link: any TableLink) throws -> StorePage {
        let places = table.key.map { key in table.columns.firstIndex { $0.name == key } ?? 0 }
        var values: [TableValue] = []
        if case .array(let parts) = try? JSONValue.parse(after) {
            values = parts.map { $0.integer.map { .number($0) } ?? .text($0.string) }
        }
        let marks = values.indices.map { "$\($0 + 1)" }.joined(separator: ", ")
        let start = values.isEmpty ? "" : "AND (\(table.keyNames)) > (\(marks))"
        let select = TableStatement(
            "",
            """
            SELECT \(table.names) FROM signalbox.\(table.name)
            WHERE \(condition) \(start) ORDER BY \(table.keyNames) LIMIT \(rowsMax)
            """)
        var page = StorePage(after: after)
        try link.each(select, values) { row in
            if let record = table.isSound(row) ? read(row) : nil {
                page.records.append(record)
            } else {
                page.damaged += 1
            }
            page.end =
                JSONValue.array(
                    places.map { place in
                        table.columns[place].type == .number
                            ? .integer(row.number(place)) : .string(row.text(place))
                    }
                ).text
        }
        page.isLast = page.records.count + page.damaged < rowsMax
        return page
    }

    // MARK: The tables

    private static let devices = CopiedTable(
        table: Tables.device, rowsMax: 2_000,
        read: { row in
            guard let number = row.unsigned(10) else { return nil }
            let known = DeviceTable.device(row, nowUnixMs: 0)
            return .device(
                StoredDevice(known.device, onlineUntilUnixMs: row.time(8), number: number))
        },
        row: { if case .device(let device) = $0 { DeviceTable.values(device) } else { nil } })

    private static let badges = CopiedTable(
        table: Tables.badge, rowsMax: 2_000,
        read: {
            .badge(UserKey(app: $0.text(0), user: $0.text(1)), Int32(clamping: $0.number(2)))
        },
        row: { record in
            guard case .badge(let user, let number) = record else { return nil }
            return [.text(user.app), .text(user.user), .number(Int64(number))]
        })

    private static let values = CopiedTable(
        table: Tables.value, rowsMax: 200,
        read: { row in
            .value(
                instance: row.text(0), key: row.text(1), bytes: row.bytes(2),
                untilUnixMs: row.optional(3).map { UInt64(clamping: $0) })
        },
        row: { record in
            guard case .value(let instance, let key, let bytes, let until) = record else {
                return nil
            }
            return [
                .text(instance), .text(key), .bytes(bytes),
                .number(until.map { Int64(clamping: $0) }),
            ]
        })

    private static let reports = CopiedTable(
        table: Tables.outbox, rowsMax: 2_000,
        read: { OutboxTable.entry($0).map { .report($0) } },
        row: { record in
            guard case .report(let entry) = record else { return nil }
            return [.number(clamping: entry.id)] + OutboxTable.values(entry.report)
        })

    private static let dead = CopiedTable(
        table: Tables.dead, rowsMax: 500, read: { .delivery(DeadTable.stored($0)) },
        row: { record in
            guard case .delivery(let stored) = record, let death = stored.death else { return nil }
            return DeadTable.values(stored, death)
        })

    private static let receivers = CopiedTable(
        table: Tables.receiver, rowsMax: 2_000,
        read: { .receiver($0.text(0), next: $0.unsigned(1) ?? 0) },
        row: { record in
            guard case .receiver(let name, let next) = record else { return nil }
            return [.text(name), .number(clamping: next)]
        })

    private static let outcomes = CopiedTable(
        table: Tables.outcome, rowsMax: 16, condition: "\(outcomesEnd) > \(floor)",
        countSQL: "CAST(coalesce(sum(least(greatest(count, 0), \(Int32.max))), 0) AS bigint)",
        read: { row in
            guard let first = row.unsigned(0), let count = row.unsigned(1) else { return nil }
            return .outcomes(
                OutcomeRow(first: first, count: Int(clamping: count), bytes: row.bytes(3)),
                unixMs: row.time(2))
        },
        row: { record in
            guard case .outcomes(let row, let unixMs) = record else { return nil }
            return [
                .number(clamping: row.first), .number(Int64(row.count)),
                .number(clamping: unixMs), .bytes(row.bytes),
            ]
        })
}

extension CopyMark {
    /// Makes the table of the mark.
    public static let makeTable = TableStatement(
        "", optional(Tables.copy.postgres()), sqlite: optional(Tables.copy.sqlite))

    private static func optional(_ make: String) -> String {
        make.replacing("CREATE TABLE", with: "CREATE TABLE IF NOT EXISTS")
    }

    private static func select(_ table: String) -> TableStatement {
        TableStatement("", "SELECT \(Tables.copy.names) FROM signalbox.\(table) FOR UPDATE")
    }

    private static func isThere(_ table: String) -> TableStatement {
        TableStatement(
            "", "SELECT CASE WHEN to_regclass('signalbox.\(table)') IS NULL THEN 0 ELSE 1 END",
            sqlite: "SELECT count(*) FROM sqlite_schema WHERE type = 'table' AND name = '\(table)'")
    }

    /// Reads the mark of the copy that is not finished, or from `copied` that of the last one; nil without a mark.
    public static func read(
        from table: String = "copy", _ link: any TableLink
    ) throws -> CopyMark? {
        guard try link.number(isThere(table)) != 0 else { return nil }
        return try link.all(select(table)) { row in
            guard let kind = StoredKind(rawValue: row.text(1)) else {
                throw StoreError(
                    "store-newer", "a newer signalbox began the copy; run that version")
            }
            return CopyMark(
                source: row.text(0), kind: kind, after: row.text(2),
                damaged: Int(clamping: row.unsigned(3) ?? 0))
        }.first ?? CopyMark(source: "")
    }

    /// Replaces the mark, or removes it when the copy is finished (nil).
    public static func write(_ mark: CopyMark?, _ link: any TableLink) throws {
        guard let mark else {
            try link.send(TableStatement("", "DROP TABLE IF EXISTS signalbox.copied"), [])
            return try link.send(
                TableStatement("", "ALTER TABLE signalbox.copy RENAME TO copied"), [])
        }
        try link.send(makeTable, [])
        try link.send(TableStatement("", "DELETE FROM signalbox.copy"), [])
        try link.send(
            Tables.copy.insert(),
            [
                .text(mark.source), .text(mark.kind.rawValue), .text(mark.after),
                .number(Int64(mark.damaged)),
            ])
    }
}
