internal import SignalboxCore

/// History: a row per transaction, or a few. Its place is the time; several rows may have the same.
enum HistoryTables {
    /// How many rows one step of a search looks at.
    private static let searchMax = 2_000

    private static let insert = Statement(
        "insert_history",
        """
        INSERT INTO signalbox.history (part, at, gateway, tags, records)
        SELECT \(CurrentHalf.of("history", parts: Schema.historyParts)), $1::bigint, $2::text, $3::bytea, $4::bytea
        """)

    static func append(
        _ rows: [HistoryRow], by gateway: String, _ transaction: Transaction, nowUnixMs: Int64
    ) {
        for row in rows {
            let values = Parameters(nowUnixMs, gateway, row.tags, row.records)
            transaction.send(insert, values)
        }
    }

    /// One step of a search: all rows of a span of time.
    static func page(
        _ search: HistorySearch, _ link: PostgresLink, byNs deadlineNs: UInt64
    ) throws(PostgresFault) -> HistoryPage {
        let rows = { (text: String, values: Parameters) throws(PostgresFault) -> Rows in
            try link.run(Statement("", text), values, byNs: deadlineNs)
        }
        var page = HistoryPage()
        guard let span = try Span(search, rows) else { return page }
        let found = try rows(span.select("at, gateway, tags, records"), span.values)
        for place in 0..<found.count { page.rows.append(row(found, place)) }
        page.next = span.next
        return page
    }

    /// Changes the rows of one step of a search. Returns where the next step continues.
    static func change(
        _ search: HistorySearch, _ transaction: Transaction, _ body: (HistoryRow) -> HistoryRow?
    ) throws(TransactionFault) -> UInt64? {
        let rows = { (text: String, values: Parameters) throws(TransactionFault) -> Rows in
            try transaction.run(Statement("", text), values)
        }
        guard let span = try Span(search, rows) else { return nil }
        let columns = "at, gateway, tags, records, part, ctid::text"
        let found = try rows(span.select(columns, "FOR UPDATE"), span.values)
        for place in 0..<found.count {
            let before = row(found, place)
            let after = body(before)
            if after == before { continue }
            var values = Parameters(found.number(place, 4), found.text(place, 5))
            guard let after else {
                transaction.send(remove, values)
                continue
            }
            values.add(after.tags)
            values.add(after.records)
            transaction.send(replace, values)
        }
        return span.next
    }

    private static let remove = Statement(
        "remove_history",
        "DELETE FROM signalbox.history WHERE part = $1::bigint AND ctid = $2::text::tid")
    private static let replace = Statement(
        "replace_history",
        """
        UPDATE signalbox.history SET tags = $3::bytea, records = $4::bytea
        WHERE part = $1::bigint AND ctid = $2::text::tid
        """)

    private static func row(_ rows: Rows, _ place: Int) -> HistoryRow {
        var row = HistoryRow()
        row.unixMs = UInt64(clamping: rows.number(place, 0))
        row.gateway = rows.text(place, 1)
        row.tags = Array(rows.bytes(place, 2))
        row.records = Array(rows.bytes(place, 3))
        return row
    }

    /// The time that one step of a search looks at.
    private struct Span {
        /// Before which time, since which time, since which time in this step, and the tags.
        let values: Parameters
        /// Where the next step continues.
        let next: UInt64?

        /// nil if there are no rows.
        init?<Fault: Error>(
            _ search: HistorySearch, _ run: (String, Parameters) throws(Fault) -> Rows
        ) throws(Fault) {
            var values = Parameters(
                search.cursor.map { Int64(clamping: $0) } ?? .max,
                Int64(clamping: search.sinceUnixMs))
            let found = try run(
                """
                SELECT min(at), count(*) FROM (SELECT at FROM signalbox.history
                  WHERE at < $1::bigint AND at >= $2::bigint
                  ORDER BY at DESC LIMIT \(searchMax)) AS span
                """, values)
            guard let first = found.optional(0, 0) else { return nil }
            values.add(first)
            values.add(search.tags.map(\.bytes))
            self.values = values
            next = found.number(0, 1) == searchMax ? UInt64(clamping: first) : nil
        }

        func select(_ columns: String, _ rest: String = "") -> String {
            """
            SELECT \(columns) FROM signalbox.history
            WHERE at < $1::bigint AND at >= $2::bigint AND at >= $3::bigint
              AND EXISTS (SELECT 1 FROM unnest($4::bytea[]) AS wanted (tag)
                WHERE position(tag IN tags) > 0)
            ORDER BY at DESC \(rest)
            """
        }
    }
}
