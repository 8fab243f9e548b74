internal import Foundation
internal import GRDB
public import SignalboxCore
internal import SignalboxTables

/// Reads what a copy takes from a data folder.
extension SQLiteContents {
    /// Rows of a page.
    private static let rowsMax = 2_000
    /// Blocks of a page, with up to 256 deliveries each.
    private static let blocksMax = 16

    /// The records of a kind that follow a place.
    public func page(_ kind: StoredKind, after: String) throws -> StorePage {
        try read { db in
            if let copied = CopiedTable.of(kind) {
                return try copied.page(after: after, self.link(db))
            }
            return switch kind {
            case .numbers: try self.numbers(db)
            case .seen: try self.seen(after: after, db)
            case .waiting: try self.waiting(after: after, db)
            case .devices, .badges, .values, .dead, .reports, .receivers, .outcomes:
                StorePage(after: after)
            }
        }
    }

    private func numbers(_ db: Database) throws -> StorePage {
        func number(_ sql: String) throws -> UInt64 {
            UInt64(clamping: try Int64.fetchOne(db, sql: sql) ?? 0)
        }
        var outcomes = OutcomeTables()
        try outcomes.start(db)
        var page = StorePage(after: "")
        page.records = [
            .numbers(
                StoredNumbers(
                    seed: try SeenKeys.seed(db), lastID: try QueueTables.lastID(db),
                    lastReport: try number("SELECT seq FROM sqlite_sequence WHERE name = 'outbox'"),
                    nextOutcome: outcomes.next,
                    lastRegistration: try number(
                        "SELECT value FROM counter WHERE name = 'device'")))
        ]
        return page
    }

    /// First those of the tree that are not recent, then the recent ones.
    private func seen(after: String, _ db: Database) throws -> StorePage {
        let recent = try recentKeys(db)
        var page = StorePage(after: after)
        if !after.hasPrefix("recent") {
            let rows = try Row.fetchAll(
                db,
                sql: """
                    SELECT key, until FROM seen_key
                    WHERE key > ? AND typeof(key) = 'blob' AND length(key) = 16 ORDER BY key LIMIT ?
                    """,
                arguments: [SeenKey(hexadecimal: after)?.data ?? Data(), Self.rowsMax])
            for row in rows {
                let until = (try? row.number("until")) ?? 0
                let key = try row.withUnsafeData(atIndex: 0) { data in
                    data?.withUnsafeBytes { $0.count == 16 ? SeenKey($0) : nil }
                }
                guard let key else { continue }
                page.end = key.hexadecimal
                guard recent[key] == nil else { continue }
                page.records.append(.seen(key, untilUnixMs: UInt64(clamping: until)))
            }
            page.isLast = rows.isEmpty && recent.isEmpty
            if rows.isEmpty, !recent.isEmpty { page.end = "recent" }
            return page
        }
        let last = SeenKey(hexadecimal: String(after.dropFirst("recent ".count)))
        let keys = recent.keys.filter { key in last.map { $0 < key } ?? true }.sorted()
        for key in keys.prefix(Self.rowsMax) {
            page.records.append(.seen(key, untilUnixMs: UInt64(clamping: recent[key] ?? 0)))
            page.end = "recent \(key.hexadecimal)"
        }
        page.isLast = keys.count <= Self.rowsMax
        return page
    }

    // MARK: Deliveries

    /// First those with rows of their own, then blocks.
    private func waiting(after: String, _ db: Database) throws -> StorePage {
        let lanes = try LaneKey.all(DamagedRows(), db)
        if !after.hasPrefix("block") { return try rows(after: after, db) }
        let last = after.split(separator: " ").dropFirst().compactMap { Int64($0) }
        var page = StorePage(after: after)
        let blocks = try Row.fetchAll(
            db,
            sql: """
                SELECT lane, rank, id, count FROM block WHERE (lane, rank, id) > (?, ?, ?)
                ORDER BY lane, rank, id LIMIT ?
                """,
            arguments: StatementArguments(last.count == 3 ? last : [0, 0, 0]) + [Self.blocksMax])
        for row in blocks {
            guard let lane = try? row.number("lane"), let rank = try? row.number("rank") else {
                page.damaged += 1
                continue
            }
            let id = try row.number("id")
            page.end = "block \(lane) \(rank) \(id)"
            let count = Int(clamping: (try? row.unsigned("count")) ?? 1)
            try add(block: id, count: min(count, Marks.count), lanes[lane], to: &page, db)
        }
        page.isLast = blocks.count < Self.blocksMax
        return page
    }

    private func add(
        block id: Int64, count: Int, _ lane: LaneKey?, to page: inout StorePage, _ db: Database
    ) throws {
        let marks = try Row.fetchOne(
            db, sql: "SELECT done FROM progress WHERE block = ?", arguments: [id])
        let done = Marks((try? marks?.bytes("done")) ?? Data())
        var reader = BlockReader.unreadable
        do {
            let row = try Row.fetchOne(
                db, sql: "SELECT bytes FROM block WHERE id = ?", arguments: [id])
            if let bytes = try? row?.bytes("bytes"), let lane {
                reader = bytes.withUnsafeBytes { BlockReader($0, lane: lane) }
            }
        } catch let error as DatabaseError
            where error.resultCode.primaryResultCode == .SQLITE_CORRUPT
        {
            // Only its number and count are known.
        }
        let before = page.records.count
        for (index, (delivery, content)) in reader.deliveries.enumerated() where !done[index] {
            page.records.append(
                .delivery(
                    StoredDelivery(
                        delivery, receivedUnixMs: reader.contents[content].receivedUnixMs)))
        }
        page.damaged += max(0, count - done.marked - (page.records.count - before))
    }

    private func rows(after: String, _ db: Database) throws -> StorePage {
        let last = after.split(separator: " ").compactMap { Int64($0) }
        var page = StorePage(after: after)
        let found = try QueueTables.storedRows(
            where: "d.leased = 0 AND (d.lane, d.rank, d.due, d.id) > (?, ?, ?, ?)",
            StatementArguments(last.count == 4 ? last : [0, 0, -1, 0]),
            "ORDER BY d.lane, d.rank, d.due, d.id LIMIT \(Self.rowsMax)", db)
        for (place, delivery, isDamaged) in found {
            page.end = place
            if isDamaged { page.damaged += 1 } else { page.records.append(.delivery(delivery)) }
        }
        if found.count < Self.rowsMax { page.end = "block" }
        page.isLast = false
        return page
    }
}

extension SeenKey {
    /// For a row.
    var data: Data {
        var bytes: [UInt8] = []
        append(to: &bytes)
        return Data(bytes)
    }

    var hexadecimal: String {
        [high, low].map { half in
            let text = String(half, radix: 16)
            return String(repeating: "0", count: 16 - text.count) + text
        }.joined()
    }

    init?(hexadecimal text: String) {
        guard text.utf8.count == 32, let high = UInt64(text.prefix(16), radix: 16),
            let low = UInt64(text.suffix(16), radix: 16)
        else { return nil }
        self.init(high: high, low: low)
    }
}
