internal import GRDB
internal import SignalboxCore
internal import SignalboxTables

/// Statements that run for every delivery, prepared once for their connection, and bound and stepped without anything between them
/// and SQLite: looking one up by its text, or boxing its arguments, would cost as much as running it.
///
/// Used by one thread at a time: the one that holds the database.
final class HotStatements {
    enum Name: Int, CaseIterable {
        case begin, commit, rollback
        case insertDelivery, insertPayload, removeDelivery, releasePayload, removePayload
        case allSeenGroups, insertSeenGroup, removeSeenGroups
        case findSeenKey, insertSeenKey, seenKeyAfter, removeSeenKeys
        case lease, leaseUntried, markLeased, extendLease, expireLeases, findLeased
        case insertBlock, removeBlock, readBlock, nextBlock, peekBlock, noteProgress, removeProgress
        case insertFlight, removeFlight, readFlight
        case allProgress
        case insertOutcomes, outcomesFrom
        case insertHistory, trimHistory
        case devicesOfUser, devicesOfFewUsers, devicesOfUsers
        case staleShown, staleBadge, staleDeadShown, staleDeadBadge

        var sql: String {
            switch self {
            case .begin: "BEGIN IMMEDIATE"
            case .commit: "COMMIT"
            case .rollback: "ROLLBACK"
            case .insertDelivery:
                """
                INSERT INTO delivery (id, lane, rank, due, leased, attempt, deadline, payload, route,
                  stable, badge, device, shown_key, badge_key, accepted, free, stale)
                VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
                """
            case .insertPayload:
                """
                INSERT INTO payload (id, event, source, type, subject, received, note, refs, key)
                VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)
                """
            case .removeDelivery: "DELETE FROM delivery WHERE id = ? RETURNING payload, attempt"
            case .releasePayload: "UPDATE payload SET refs = refs - ? WHERE id = ? RETURNING refs"
            case .removePayload: "DELETE FROM payload WHERE id = ?"
            case .allSeenGroups: "SELECT id, keys FROM seen_group ORDER BY id"
            case .insertSeenGroup: "INSERT INTO seen_group (id, keys) VALUES (?, ?)"
            case .removeSeenGroups: "DELETE FROM seen_group WHERE id <= ?"
            case .findSeenKey: "SELECT until FROM seen_key WHERE key = ?"
            case .insertSeenKey: "INSERT OR REPLACE INTO seen_key (key, until) VALUES (?, ?)"
            case .seenKeyAfter:
                "SELECT key FROM seen_key WHERE key > ? ORDER BY key LIMIT 1 OFFSET ?"
            case .removeSeenKeys: "DELETE FROM seen_key WHERE key > ? AND key <= ? AND until <= ?"
            case .lease:
                """
                SELECT id, attempt, deadline, payload, route, stable, badge, device, free, stale, accepted
                FROM delivery WHERE lane = ? AND rank = ? AND due <= ? AND leased = 0
                ORDER BY due, id LIMIT ?
                """
            case .leaseUntried:
                // Searches only the next few, so that a long queue is not read for one delivery. What was never tried and
                // is not due waits for its time.
                """
                SELECT * FROM (
                  SELECT id, attempt, deadline, payload, route, stable, badge, device, free, stale,
                    accepted, due
                  FROM delivery WHERE lane = ? AND rank = ? AND leased = 0
                    AND (due <= ? OR attempt > 1 OR free > 0)
                  ORDER BY due, id LIMIT 100)
                ORDER BY attempt > 1, due, id LIMIT ?
                """
            case .markLeased: "UPDATE delivery SET leased = 1, due = ? WHERE id = ?"
            case .extendLease: "UPDATE delivery SET due = ? WHERE id = ? AND leased = 1"
            case .expireLeases:
                "UPDATE delivery SET leased = 0 WHERE id BETWEEN ? AND ? AND leased = 1 AND due <= ?"
            case .findLeased:
                """
                SELECT min(due) FILTER (WHERE lane = ?), count(*)
                FROM delivery WHERE id BETWEEN ? AND ? AND leased = 1
                """
            case .insertBlock:
                "INSERT INTO block (id, lane, rank, count, bytes) VALUES (?, ?, ?, ?, ?)"
            case .insertFlight:
                "INSERT INTO flight (id, lane, rank, count, bytes) VALUES (?, ?, ?, ?, ?)"
            case .removeBlock: "DELETE FROM block WHERE id = ?"
            case .removeFlight: "DELETE FROM flight WHERE id = ?"
            case .readBlock: "SELECT bytes FROM block WHERE id = ?"
            case .readFlight: "SELECT bytes FROM flight WHERE id = ?"
            case .nextBlock:
                """
                SELECT id, count, (SELECT done FROM progress WHERE progress.block = block.id), bytes
                FROM block WHERE lane = ? AND rank = ? AND id > ? ORDER BY id LIMIT 1
                """
            case .peekBlock:
                // Of the index alone.
                """
                SELECT id, count, (SELECT done FROM progress WHERE progress.block = block.id)
                FROM block WHERE lane = ? AND rank = ? AND id > ? ORDER BY id LIMIT 1
                """
            case .noteProgress: "INSERT OR REPLACE INTO progress (block, done) VALUES (?, ?)"
            case .allProgress: "SELECT done FROM progress"
            case .insertOutcomes:
                "INSERT INTO outcome (first, count, at, records) VALUES (?, ?, ?, ?)"
            case .outcomesFrom:
                """
                SELECT first, count, records FROM outcome
                WHERE first >= coalesce((SELECT max(first) FROM outcome WHERE first <= ?1), 0)
                ORDER BY first
                """
            case .insertHistory: "INSERT INTO history (id, at, tags, records) VALUES (?, ?, ?, ?)"
            case .trimHistory:
                """
                DELETE FROM history WHERE id IN (
                  SELECT id FROM (SELECT id, at FROM history ORDER BY id LIMIT ?)
                  WHERE id <= ? OR at < ?)
                """
            case .staleShown: StaleSQL.mark("delivery", "shown_key", .shown)
            case .staleBadge: StaleSQL.mark("delivery", "badge_key", .badge)
            case .staleDeadShown: StaleSQL.mark("dead", "shown_key", .shown)
            case .staleDeadBadge: StaleSQL.mark("dead", "badge_key", .badge)
            case .removeProgress: "DELETE FROM progress WHERE block = ?"
            case .devicesOfUser: "\(DeviceSQL.devices) WHERE user_id = ?"
            case .devicesOfFewUsers: DeviceSQL.devices(ofUsersInApp: DeviceSQL.fewUsers)
            case .devicesOfUsers: DeviceSQL.devices(ofUsersInApp: DeviceSQL.usersMax)
            }
        }
    }

    private var prepared = [HotStatement?](repeating: nil, count: Name.allCases.count)

    private var shared: [String: HotStatement] = [:]

    /// Finalizes all: a connection with open statements cannot be closed.
    func removeAll() {
        prepared = [HotStatement?](repeating: nil, count: Name.allCases.count)
        shared = [:]
    }

    /// A statement that both engines have. One without a name is prepared each time.
    func statement(_ statement: TableStatement, _ db: Database) throws -> HotStatement {
        if let known = shared[statement.name] {
            known.begin()
            return known
        }
        let made = HotStatement(try db.makeStatement(sql: statement.sqlite), db)
        if !statement.name.isEmpty { shared[statement.name] = made }
        return made
    }

    /// A statement, ready for its arguments.
    func statement(_ name: Name, _ db: Database) throws -> HotStatement {
        if let known = prepared[name.rawValue] {
            known.begin()
            return known
        }
        let made = HotStatement(try db.cachedStatement(sql: name.sql), db)
        prepared[name.rawValue] = made
        return made
    }
}
