internal import SignalboxCore
internal import SignalboxTables

/// Checks and creates the tables that a gateway or a command uses.
extension Opening {
    /// Creates the tables if they are missing. Returns whether it did.
    @discardableResult
    func makeTables() throws(StoreError) -> Bool {
        try reporting { () throws(PostgresFault) in
            guard try !hasTables() else { return false }
            try retrying(make)
            return true
        }
    }

    /// Before the first table: whatever ends the copy, no gateway starts on a database that was made for it.
    func markForCopy() throws(StoreError) {
        try reporting { () throws(PostgresFault) in
            guard try !hasTables() else { return }
            _ = try run("CREATE SCHEMA IF NOT EXISTS signalbox")
            _ = try run(CopyMark.makeTable.postgres)
        }
    }

    /// Throws if there are no tables: no gateway has ever used this database.
    func requireTables() throws(StoreError) {
        guard try reporting(hasTables) else {
            throw StoreError(
                "store-missing",
                "there is no store in the database \(place): it has no tables in the schema signalbox; "
                    + "check the name of the database")
        }
    }

    /// Whether there are tables. Throws if they have another number.
    func hasTables() throws(PostgresFault) -> Bool {
        let found = try schemaNumber()
        guard found == 0 || found == Schema.number else {
            throw PostgresFault(
                kind: .refused, sqlState: Self.unknown,
                message: StoreError.unknownSchema(place, found: found, expected: Schema.number)
                    .message)
        }
        return found != 0
    }

    /// The schema number of the tables; 0 if the tables are missing.
    ///
    /// `meta` is created before the other tables, and its number is written together with them.
    func schemaNumber() throws(PostgresFault) -> Int {
        let found = try run(
            """
            SELECT count(*) FILTER (WHERE relname = 'meta'), count(*) FILTER (WHERE relname <> 'meta')
            FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
            WHERE n.nspname = 'signalbox' AND relname IN ('meta', 'gateway', 'lane', 'device')
            """)
        if found.number(0, 0) > 0 {
            let rows = try run("SELECT value FROM signalbox.meta WHERE name = 'schema'")
            if rows.count > 0, rows.number(0, 0) > 0 { return Int(rows.number(0, 0)) }
        }
        guard found.number(0, 1) == 0 else {
            throw PostgresFault(
                kind: .refused, sqlState: Self.unversioned,
                message:
                    "nobody knows which version the tables in \(place) have: their table signalbox.meta "
                    + "was dropped or emptied; restore a backup, or make that table again "
                    + "(docs/operations.md)")
        }
        return 0
    }

    private func make() throws(PostgresFault) {
        for sql in [
            "CREATE SCHEMA IF NOT EXISTS signalbox",
            """
            CREATE TABLE IF NOT EXISTS signalbox.meta (
              name text PRIMARY KEY, value bigint NOT NULL)
            """,
            """
            INSERT INTO signalbox.meta (name, value) VALUES ('schema', 0)
            ON CONFLICT (name) DO NOTHING
            """, Statement.beginSQL,
        ] { _ = try run(sql) }
        // Whoever holds this row makes the tables; others wait and find them made.
        let found = try run("SELECT value FROM signalbox.meta WHERE name = 'schema' FOR UPDATE")
        if found.number(0, 0) == 0 {
            for sql in Schema.tables { _ = try run(sql) }
            _ = try run("UPDATE signalbox.meta SET value = \(Schema.number) WHERE name = 'schema'")
        }
        _ = try run("COMMIT")
        for sql in Schema.tuning { try tune(sql) }
    }

    private func tune(_ sql: String) throws(PostgresFault) {
        do throws(PostgresFault) {
            _ = try run(sql)
        } catch {
            guard error.kind == .refused else { throw error }
        }
    }
}

extension Opening {
    /// Whether there is a copy that is not finished.
    static let hasCopy = "SELECT to_regclass('signalbox.copy') IS NOT NULL"
}
