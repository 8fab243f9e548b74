internal import SignalboxCore
internal import SignalboxTables

/// Looks for a user's deliveries in the whole queue, part by part.
///
/// First blocks, then rows: a delivery that leaves its block meanwhile gets a row.
enum WaitingSearch {
    /// Blocks of a part, with up to 256 deliveries each.
    private static let blocksMax = 64
    private static let rowsMax = 4_000

    /// `place`: a table and the id after which the part begins.
    static func part(
        of user: UserKey, after place: String, _ link: PostgresLink, byNs deadlineNs: UInt64
    ) throws(PostgresFault) -> WaitingPart {
        let isRows = place.hasPrefix("delivery")
        let (table, max) = isRows ? ("delivery", rowsMax) : ("block", blocksMax)
        var values = Parameters(place.split(separator: " ").last.flatMap { Int64($0) } ?? 0)
        let span = try link.run(
            Statement(
                "",
                """
                SELECT max(id), count(*) FROM (SELECT id FROM signalbox.\(table)
                  WHERE id > $1::bigint ORDER BY id LIMIT \(max)) AS span
                """), values, byNs: deadlineNs)
        var part = WaitingPart()
        part.next = isRows ? nil : "delivery 0"
        guard let end = span.optional(0, 0) else { return part }
        if span.number(0, 1) == Int64(max) { part.next = "\(table) \(end)" }
        values.add(end)
        values.add(Array(user.user.utf8))
        let columns =
            isRows
            ? "t.id, t.attempt, t.free, t.deadline, t.received, t.body, t.attempts::text, t.due, t.owner"
            : "t.body, t.m0, t.m1, t.m2, t.m3"
        let rows = try link.run(
            Statement(
                "",
                """
                SELECT l.sender, l.app, l.kind, \(columns) FROM signalbox.\(table) t
                  JOIN signalbox.lane l ON l.id = t.lane
                WHERE t.id > $1::bigint AND t.id <= $2::bigint
                  AND position($3::bytea IN t.body) > 0 ORDER BY t.id
                """), values, byNs: deadlineNs)
        for row in 0..<rows.count {
            let lane = LaneKey(rows, row, from: 0)
            part.found += (isRows ? single(rows, row, lane) : block(rows, row, lane))
                .filter { user.owns($0.delivery.device) }
        }
        return part
    }

    private static func single(_ rows: Rows, _ row: Int, _ lane: LaneKey) -> [StoredDelivery] {
        guard let delivery = Delivery(row: row, of: rows, lane, from: 3) else { return [] }
        let isHeld = rows.number(row, 11) != 0
        return [
            StoredDelivery(
                delivery, receivedUnixMs: UInt64(clamping: rows.number(row, 7)),
                attempts: [Attempt](record: rows.text(row, 9)),
                dueUnixMs: isHeld ? 0 : UInt64(clamping: rows.number(row, 10)))
        ]
    }

    private static func block(_ rows: Rows, _ row: Int, _ lane: LaneKey) -> [StoredDelivery] {
        let done = Marks(rows, row, from: 4)
        let reader = BlockReader(rows.bytes(row, 3), lane: lane)
        return reader.deliveries.enumerated().filter { !done[$0.offset] }.map { _, found in
            StoredDelivery(
                found.delivery, receivedUnixMs: reader.contents[found.content].receivedUnixMs)
        }
    }
}
