internal import GRDB
internal import SignalboxCore
internal import SignalboxTables

/// The tables of a file, and their number.
///
/// The number is SQLite's `user_version`. It changes only with tables that this version could not use; then a list of
/// steps from number to number belongs here.
enum Schema {
    static let number = 1

    /// What a file holds.
    enum Found: Equatable {
        /// No tables.
        case missing
        case current
        /// Tables with another number; 0: a development version made them.
        case unknown(Int)
    }

    static func find(_ db: Database) throws -> Found {
        let found = try Int.fetchOne(db, sql: "PRAGMA user_version") ?? 0
        if found == number { return .current }
        let hasTables = try Bool.fetchOne(db, sql: "SELECT EXISTS (SELECT 1 FROM sqlite_schema)")
        return found == 0 && hasTables == false ? .missing : .unknown(found)
    }

    static func make(_ db: Database) throws {
        try db.execute(sql: sql + "PRAGMA user_version = \(number);")
    }

    static func fault(_ path: String, found: Int) -> StoreError {
        StoreError.unknownSchema(path, found: found, expected: number)
    }

    /// Blocks that a lane took over when they were committed; see BlockTables.
    static let flight = """
        CREATE TABLE flight (
          id INTEGER PRIMARY KEY, lane INTEGER NOT NULL, rank INTEGER NOT NULL,
          count INTEGER NOT NULL, bytes BLOB NOT NULL);
        """

    private static let sql = """
        CREATE TABLE counter (name TEXT PRIMARY KEY, value INTEGER NOT NULL);
        -- The owner of this database's leases, and its epoch.
        CREATE TABLE owner (name TEXT NOT NULL, epoch INTEGER NOT NULL);
        INSERT INTO owner (name, epoch) VALUES (lower(hex(randomblob(16))), 0);

        CREATE TABLE lane (
          id INTEGER PRIMARY KEY, sender TEXT NOT NULL, app TEXT NOT NULL, kind INTEGER NOT NULL,
          UNIQUE (sender, app, kind));
        -- New deliveries are stored in blocks; see BlockTables.
        CREATE TABLE block (
          id INTEGER PRIMARY KEY, lane INTEGER NOT NULL, rank INTEGER NOT NULL,
          count INTEGER NOT NULL, bytes BLOB NOT NULL);
        CREATE INDEX block_lane ON block (lane, rank, id, count);
        CREATE TABLE progress (block INTEGER PRIMARY KEY, done BLOB NOT NULL);
        \(flight)
        -- Those that were tried or wait for a time. One row per content of an event; deliveries point to it.
        CREATE TABLE payload (
          id INTEGER PRIMARY KEY, event INTEGER NOT NULL, source TEXT NOT NULL, type TEXT NOT NULL,
          subject TEXT NOT NULL, received INTEGER NOT NULL, note BLOB NOT NULL,
          refs INTEGER NOT NULL, key TEXT NOT NULL DEFAULT '');
        -- `free`: how many of the attempts were. `stale`: what of it is obsolete; see StaleTables.
        CREATE TABLE delivery (
          id INTEGER PRIMARY KEY, lane INTEGER NOT NULL, rank INTEGER NOT NULL,
          due INTEGER NOT NULL, leased INTEGER NOT NULL, attempt INTEGER NOT NULL,
          deadline INTEGER NOT NULL, payload INTEGER NOT NULL, route TEXT NOT NULL,
          stable TEXT NOT NULL, badge INTEGER, device BLOB NOT NULL,
          free INTEGER NOT NULL DEFAULT 0, shown_key INTEGER, badge_key INTEGER,
          accepted INTEGER NOT NULL DEFAULT 0, stale INTEGER NOT NULL DEFAULT 0);
        -- Most leased rows are gone before anyone looks for them, so they are in no index.
        CREATE INDEX delivery_due ON delivery (lane, rank, due, id) WHERE leased = 0;
        -- A newer report replaces an older one that still waits.
        CREATE INDEX delivery_report ON delivery (lane, stable) WHERE route = '';
        CREATE INDEX delivery_shown ON delivery (shown_key) WHERE shown_key IS NOT NULL;
        CREATE INDEX delivery_badge ON delivery (badge_key) WHERE badge_key IS NOT NULL;
        CREATE TABLE attempt (
          delivery INTEGER NOT NULL, number INTEGER NOT NULL, at INTEGER NOT NULL,
          reason TEXT NOT NULL, code INTEGER NOT NULL, detail TEXT NOT NULL,
          PRIMARY KEY (delivery, number)) WITHOUT ROWID;
        \(Tables.dead.sqlite)
        -- The oldest go first.
        CREATE INDEX dead_at ON dead (at);
        CREATE INDEX dead_shown ON dead (shown_key) WHERE shown_key IS NOT NULL;
        CREATE INDEX dead_badge ON dead (badge_key) WHERE badge_key IS NOT NULL;

        -- Keys of a commit in one row; see SeenKeys.
        CREATE TABLE seen_group (id INTEGER PRIMARY KEY, keys BLOB NOT NULL);
        CREATE TABLE seen_key (key BLOB PRIMARY KEY, until INTEGER NOT NULL) WITHOUT ROWID;

        \(Tables.device.sqlite)
        CREATE INDEX device_user ON device (user_id, app, kind);
        CREATE INDEX device_token ON device (token);
        INSERT INTO counter (name, value) VALUES ('device', 0);
        \(Tables.badge.sqlite)
        CREATE TRIGGER badge_end AFTER DELETE ON device
          WHEN NOT EXISTS (SELECT 1 FROM device WHERE user_id = OLD.user_id AND app = OLD.app)
          BEGIN DELETE FROM badge WHERE app = OLD.app AND user_id = OLD.user_id; END;

        \(Tables.value.sqlite)
        \(Tables.outbox.sqlite)
        -- One row per commit; see OutcomeTables.
        \(Tables.outcome.sqlite)
        \(Tables.receiver.sqlite)
        -- One row per commit, or a few; see HistoryTables.
        CREATE TABLE history (
          id INTEGER PRIMARY KEY, at INTEGER NOT NULL, tags BLOB NOT NULL, records BLOB NOT NULL);

        """
}
