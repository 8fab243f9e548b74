internal import GRDB
internal import SignalboxCore

/// The table that exists while a copy into the database is not finished.
enum CopyTable {
    static func isThere(_ db: Database) throws -> Bool { try db.tableExists("copy") }

    static func read(_ db: Database) throws -> CopyMark? {
        guard try isThere(db),
            let row = try Row.fetchOne(db, sql: "SELECT source, kind, after, damaged FROM copy"),
            let kind = StoredKind(rawValue: row[1])
        else { return nil }
        return CopyMark(source: row[0], kind: kind, after: row[2], damaged: row[3])
    }

    static func write(_ mark: CopyMark?, _ db: Database) throws {
        guard let mark else { return try db.execute(sql: "DROP TABLE copy") }
        try db.execute(
            sql: """
                CREATE TABLE IF NOT EXISTS copy (
                  source TEXT NOT NULL, kind TEXT NOT NULL, after TEXT NOT NULL,
                  damaged INTEGER NOT NULL);
                DELETE FROM copy;
                """)
        try db.execute(
            sql: "INSERT INTO copy (source, kind, after, damaged) VALUES (?, ?, ?, ?)",
            arguments: [mark.source, mark.kind.rawValue, mark.after, mark.damaged])
    }
}
