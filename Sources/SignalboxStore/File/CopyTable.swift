internal import GRDB
internal import SignalboxCore

/// The table that exists while a copy into the database is not finished. Then it is renamed.
enum CopyTable {
    static func isThere(_ db: Database) throws -> Bool { try db.tableExists("copy") }

    static func read(_ db: Database, from table: String = "copy") throws -> CopyMark? {
        guard try db.tableExists(table) else { return nil }
        guard
            let row = try Row.fetchOne(
                db, sql: "SELECT source, kind, after, damaged FROM \(table)")
        else { return CopyMark(source: "") }
        guard let kind = StoredKind(rawValue: try row.text("kind")) else {
            throw StoreError(
                "store-newer", "a newer signalbox began the copy into this folder; run that version"
            )
        }
        return CopyMark(
            source: try row.text("source"), kind: kind, after: try row.text("after"),
            damaged: Int(clamping: try row.number("damaged")))
    }

    static func make(_ db: Database) throws {
        try db.execute(
            sql: """
                CREATE TABLE IF NOT EXISTS copy (
                  source TEXT NOT NULL, kind TEXT NOT NULL, after TEXT NOT NULL,
                  damaged INTEGER NOT NULL)
                """)
    }

    static func write(_ mark: CopyMark?, _ db: Database) throws {
        guard let mark else {
            return try db.execute(
                sql: "DROP TABLE IF EXISTS copied; ALTER TABLE copy RENAME TO copied")
        }
        try make(db)
        try db.execute(sql: "DELETE FROM copy")
        try db.execute(
            sql: "INSERT INTO copy (source, kind, after, damaged) VALUES (?, ?, ?, ?)",
            arguments: [mark.source, mark.kind.rawValue, mark.after, mark.damaged])
    }
}
