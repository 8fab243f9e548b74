internal import Foundation
internal import GRDB
internal import SignalboxCore

/// Looks for a user's deliveries in the whole queue, part by part, while a gateway uses it.
///
/// First blocks, then rows: a delivery that leaves its block meanwhile gets a row.
enum WaitingSearch {
    /// Blocks of a part, with up to 256 deliveries each.
    private static let blocksMax = 32
    private static let rowsMax = 4_000
    private static let tables = ["block", "flight", "delivery"]

    /// `place`: a table and the id after which the part begins.
    static func part(
        of user: UserKey, after place: String, _ damage: DamagedRows, _ db: Database
    ) throws -> WaitingPart {
        let words = place.split(separator: " ")
        let table = words.first.map { String($0) } ?? tables[0]
        let after = words.last.flatMap { Int64($0) } ?? 0
        let lanes = try LaneKey.all(damage, db)
        var part = WaitingPart()
        let end =
            table == "delivery"
            ? try rows(of: user, after: after, &part, db)
            : try blocks(of: user, in: table, after: after, lanes, &part, db)
        part.next = end.map { "\(table) \($0)" }
        if end == nil, let index = tables.firstIndex(of: table), index + 1 < tables.count {
            part.next = "\(tables[index + 1]) 0"
        }
        return part
    }

    /// Returns the id of the last block; nil if there are no more.
    private static func blocks(
        of user: UserKey, in table: String, after id: Int64, _ lanes: [Int64: LaneKey],
        _ part: inout WaitingPart, _ db: Database
    ) throws -> Int64? {
        let found = try Row.fetchAll(
            db,
            sql: """
                SELECT b.id, b.lane, b.bytes, p.done, instr(b.bytes, ?) > 0 AS named FROM \(table) b
                  LEFT JOIN progress p ON p.block = b.id
                WHERE b.id > ? ORDER BY b.id LIMIT ?
                """, arguments: [Data(user.user.utf8), id, blocksMax])
        for row in found {
            guard (try? row.number("named")) == 1, let number = try? row.number("lane"),
                let lane = lanes[number], let bytes = try? row.bytes("bytes")
            else { continue }
            let done = Marks((try? row.bytes("done")) ?? Data())
            let reader = bytes.withUnsafeBytes { BlockReader($0, lane: lane) }
            for (index, (delivery, content)) in reader.deliveries.enumerated()
            where !done[index] && user.owns(delivery.device) {
                part.found.append(
                    StoredDelivery(
                        delivery, receivedUnixMs: reader.contents[content].receivedUnixMs))
            }
        }
        return try found.count < blocksMax ? nil : found.last?.number("id")
    }

    /// Returns the id of the last row; nil if there are no more.
    private static func rows(
        of user: UserKey, after id: Int64, _ part: inout WaitingPart, _ db: Database
    ) throws -> Int64? {
        let ids = try Int64.fetchAll(
            db, sql: "SELECT id FROM delivery WHERE id > ? ORDER BY id LIMIT ?",
            arguments: [id, rowsMax])
        let rows = try QueueTables.storedRows(
            where: """
                d.id > ? AND d.id <= ? AND (typeof(d.device) = 'text' OR instr(d.device, ?) > 0)
                """,
            [id, ids.last ?? id, Data(user.user.utf8)], "", db)
        part.found += rows.filter { !$0.isDamaged && user.owns($0.delivery.delivery.device) }
            .map(\.delivery)
        return ids.count < rowsMax ? nil : ids.last
    }
}
