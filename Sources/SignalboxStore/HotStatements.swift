internal import GRDB

/// Statements that run for every event, prepared once; looking one up by its text would cost as much
/// as running it.
final class HotStatements {
    enum Name: Int, CaseIterable {
        case insertDelivery, insertPayload, removeDelivery, releasePayload, removePayload
        case selectSeen, insertSeen

        var sql: String {
            switch self {
            case .insertDelivery:
                """
                INSERT INTO delivery (id, lane, rank, due, leased, attempt, deadline, payload, route,
                  stable, badge, device) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
                """
            case .insertPayload:
                """
                INSERT INTO payload (id, event, source, type, subject, received, note, refs)
                VALUES (?, ?, ?, ?, ?, ?, ?, ?)
                """
            case .removeDelivery: "DELETE FROM delivery WHERE id = ? RETURNING payload, attempt"
            case .releasePayload: "UPDATE payload SET refs = refs - ? WHERE id = ? RETURNING refs"
            case .removePayload: "DELETE FROM payload WHERE id = ?"
            case .selectSeen: "SELECT until FROM seen WHERE source = ? AND key = ?"
            case .insertSeen: "INSERT OR REPLACE INTO seen (source, key, until) VALUES (?, ?, ?)"
            }
        }
    }

    private var prepared = [Statement?](repeating: nil, count: Name.allCases.count)

    /// A statement, ready for its arguments.
    func statement(_ name: Name, _ db: Database) throws -> Statement {
        if let known = prepared[name.rawValue] { return known }
        let made = try db.makeStatement(sql: name.sql)
        prepared[name.rawValue] = made
        return made
    }

    /// Runs a statement that gives no rows.
    func run(_ name: Name, _ arguments: StatementArguments, _ db: Database) throws {
        let statement = try statement(name, db)
        // The number of arguments is right by construction; checking it costs an allocation each.
        statement.setUncheckedArguments(arguments)
        try statement.execute()
    }
}
