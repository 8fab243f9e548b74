public import SignalboxCore
internal import SignalboxTables

/// Reads what a copy takes from a database.
///
/// The place of a row is the JSON array of its key, which the database makes and reads.
extension PostgresContents {
    private static let rowsMax = 2_000
    private static let blocksMax = 16

    /// The records of a kind that follow a place.
    public func page(_ kind: StoredKind, after: String) throws -> StorePage {
        try reporting {
            if let copied = CopiedTable.of(kind) { return try copied.page(after: after, tables) }
            return switch kind {
            case .numbers: try numbers()
            case .seen: try seen(after: after)
            case .waiting: try waiting(after: after)
            case .devices, .badges, .values, .dead, .reports, .receivers, .outcomes:
                StorePage(after: after)
            }
        }
    }

    /// Rows of a table after a place, in the order of a key; the place is the first column.
    private func rows(
        _ columns: String, from table: String, key: [(name: String, type: String)],
        where condition: String = "true", max: Int = rowsMax, after: String
    ) throws(PostgresFault) -> Rows {
        let names = key.map(\.name).joined(separator: ", ")
        var values = Parameters()
        var start = ""
        if !after.isEmpty {
            values.add(after)
            let parts = key.enumerated().map { index, key in
                "($1::text::json ->> \(index))::\(key.type)"
            }
            start = "AND (\(names)) > (\(parts.joined(separator: ", ")))"
        }
        return try run(
            """
            SELECT json_build_array(\(names))::text, \(columns) FROM signalbox.\(table)
            WHERE \(condition) \(start) ORDER BY \(names) LIMIT \(max)
            """, values)
    }

    private func page(
        _ rows: Rows, max: Int = rowsMax, after: String, _ record: (Int) -> StoredRecord
    ) -> StorePage {
        var page = StorePage(after: after)
        page.records = (0..<rows.count).map(record)
        if rows.count > 0 { page.end = rows.text(rows.count - 1, 0) }
        page.isLast = rows.count < max
        return page
    }

    private func numbers() throws(PostgresFault) -> StorePage {
        // A store on which no gateway ever started has none.
        func seed(_ rows: Rows, _ column: Int) -> UInt64 {
            rows.optional(0, column).map { UInt64(bitPattern: $0) }
                ?? .random(in: .min ... .max)
        }
        let rows = try run(
            """
            SELECT (SELECT value FROM signalbox.meta WHERE name = 'seed_0'),
              (SELECT value FROM signalbox.meta WHERE name = 'seed_1'),
              (SELECT last_value + CASE WHEN is_called THEN \(IDRange.count) ELSE 0 END - 1
                FROM signalbox.id_range),
              (SELECT last_value - CASE WHEN is_called THEN 0 ELSE 1 END FROM signalbox.outbox_id_seq),
              (SELECT last_value - CASE WHEN is_called THEN 0 ELSE 1 END FROM signalbox.device_number)
            """)
        let next = try run(OutcomeTables.next.sql)
        var page = StorePage(after: "")
        page.records = [
            .numbers(
                StoredNumbers(
                    seed: (seed(rows, 0), seed(rows, 1)),
                    lastID: UInt64(clamping: rows.number(0, 2)),
                    lastReport: UInt64(clamping: rows.number(0, 3)),
                    nextOutcome: UInt64(clamping: next.number(0, 0)),
                    lastRegistration: UInt64(clamping: rows.number(0, 4))))
        ]
        return page
    }

    /// A key that came again after it had expired may be there twice.
    private func seen(after: String) throws(PostgresFault) -> StorePage {
        let values = Parameters(after)
        let rows = try run(
            """
            SELECT encode(key, 'hex'), key, max(until) FROM signalbox.seen WHERE key > decode($1::text, 'hex')
            GROUP BY key ORDER BY key LIMIT \(Self.rowsMax)
            """, values)
        var page = page(rows, after: after) { row in
            let key = rows.bytes(row, 1)
            return .seen(
                key.count == 16 ? SeenKey(key) : SeenKey(high: 0, low: 0),
                untilUnixMs: UInt64(clamping: rows.number(row, 2)))
        }
        // What has another length is no key.
        let count = page.records.count
        page.records = zip(0..., page.records).filter { rows.bytes($0.0, 1).count == 16 }.map(\.1)
        page.damaged = count - page.records.count
        return page
    }

    // MARK: Deliveries

    private static let order = [
        ("lane", "bigint"), ("rank", "bigint"), ("due", "bigint"), ("id", "bigint"),
    ]

    /// First those with rows of their own, then blocks.
    private func waiting(after: String) throws(PostgresFault) -> StorePage {
        guard after.hasPrefix("block") else { return try singles(after: after) }
        let rows = try rows(
            "id, m0, m1, m2, m3, body, lane, n", from: "block", key: Self.order,
            max: Self.blocksMax, after: String(after.dropFirst("block".count)))
        var page = StorePage(after: after)
        for row in 0..<rows.count {
            page.end = "block\(rows.text(row, 0))"
            var left = rows.blockCount(row, 8) ?? 0
            guard let lane = lanes.keys[rows.number(row, 7)] else { continue }
            let done = Marks(rows, row, from: 2)
            let reader = BlockReader(rows.bytes(row, 6), lane: lane)
            for (index, (delivery, content)) in reader.deliveries.enumerated() where !done[index] {
                left -= 1
                page.records.append(
                    .delivery(
                        StoredDelivery(
                            delivery, receivedUnixMs: reader.contents[content].receivedUnixMs)))
            }
            page.damaged += max(0, left)
        }
        page.isLast = rows.count < Self.blocksMax
        return page
    }

    private func singles(after: String) throws(PostgresFault) -> StorePage {
        let rows = try rows(
            "id, attempt, free, deadline, received, body, lane, attempts::text, due, owner, stale",
            from: "delivery", key: Self.order, after: after)
        var page = StorePage(after: after)
        for row in 0..<rows.count {
            page.end = rows.text(row, 0)
            guard let lane = lanes.keys[rows.number(row, 7)],
                let delivery = Delivery(row: row, of: rows, lane, from: 1)
            else {
                page.damaged += 1
                continue
            }
            let isHeld = rows.number(row, 10) != 0
            page.records.append(
                .delivery(
                    StoredDelivery(
                        delivery, receivedUnixMs: UInt64(clamping: rows.number(row, 5)),
                        attempts: [Attempt](record: rows.text(row, 8)),
                        dueUnixMs: isHeld ? 0 : UInt64(clamping: rows.number(row, 9)),
                        stale: Staleness(stored: rows.number(row, 11)))))
        }
        if rows.count < Self.rowsMax { page.end = "block" }
        page.isLast = false
        return page
    }
}
