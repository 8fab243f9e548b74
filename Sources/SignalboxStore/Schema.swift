internal import Foundation
internal import GRDB
internal import SignalboxCore

/// The tables and their migrations.
enum Schema {
    static var migrator: DatabaseMigrator {
        var migrator = DatabaseMigrator()
        migrator.registerMigration("1") { db in
            // One row per content of an event; deliveries point to it.
            try db.execute(
                sql: """
                    CREATE TABLE payload (
                      id INTEGER PRIMARY KEY, event INTEGER NOT NULL, source TEXT NOT NULL,
                      type TEXT NOT NULL, subject TEXT NOT NULL, received INTEGER NOT NULL,
                      note TEXT NOT NULL, refs INTEGER NOT NULL);
                    CREATE TABLE lane (
                      id INTEGER PRIMARY KEY, sender TEXT NOT NULL, app TEXT NOT NULL,
                      UNIQUE (sender, app));
                    CREATE TABLE delivery (
                      id INTEGER PRIMARY KEY, lane INTEGER NOT NULL, rank INTEGER NOT NULL,
                      due INTEGER NOT NULL, leased INTEGER NOT NULL, attempt INTEGER NOT NULL,
                      deadline INTEGER NOT NULL, payload INTEGER NOT NULL, route TEXT NOT NULL,
                      stable TEXT NOT NULL, badge INTEGER, device TEXT NOT NULL);
                    CREATE INDEX delivery_due ON delivery (lane, rank, due, id);
                    CREATE INDEX delivery_leased ON delivery (leased) WHERE leased = 1;
                    CREATE TABLE attempt (
                      delivery INTEGER NOT NULL, number INTEGER NOT NULL, at INTEGER NOT NULL,
                      reason TEXT NOT NULL, code INTEGER NOT NULL, detail TEXT NOT NULL,
                      PRIMARY KEY (delivery, number)) WITHOUT ROWID;
                    CREATE TABLE dead (
                      id INTEGER PRIMARY KEY, at INTEGER NOT NULL, reason TEXT NOT NULL,
                      sender TEXT NOT NULL, app TEXT NOT NULL, route TEXT NOT NULL,
                      event INTEGER NOT NULL, source TEXT NOT NULL, type TEXT NOT NULL,
                      subject TEXT NOT NULL, received INTEGER NOT NULL, rank INTEGER NOT NULL,
                      deadline INTEGER NOT NULL, stable TEXT NOT NULL, badge INTEGER,
                      note TEXT NOT NULL, device TEXT NOT NULL);
                    CREATE TABLE seen (
                      source TEXT NOT NULL, key TEXT NOT NULL, until INTEGER NOT NULL,
                      PRIMARY KEY (source, key)) WITHOUT ROWID;
                    CREATE INDEX seen_until ON seen (until);
                    CREATE TABLE counter (name TEXT PRIMARY KEY, value INTEGER NOT NULL);
                    """)
        }
        migrator.registerMigration("2") { db in
            try db.execute(
                sql: """
                    CREATE TABLE device (
                      id INTEGER PRIMARY KEY, app TEXT NOT NULL, token TEXT NOT NULL,
                      kind TEXT NOT NULL, platform TEXT NOT NULL, provider TEXT NOT NULL,
                      source_token TEXT NOT NULL, user TEXT NOT NULL, locale TEXT NOT NULL,
                      registered INTEGER NOT NULL, seen INTEGER NOT NULL, online INTEGER NOT NULL,
                      UNIQUE (app, token));
                    CREATE INDEX device_user ON device (user, app, kind);
                    CREATE INDEX device_token ON device (token);
                    CREATE TABLE value (
                      instance TEXT NOT NULL, key TEXT NOT NULL, value BLOB NOT NULL, expires INTEGER,
                      PRIMARY KEY (instance, key)) WITHOUT ROWID;
                    """)
        }
        migrator.registerMigration("3") { db in
            try db.execute(
                sql: "ALTER TABLE device ADD COLUMN attributes TEXT NOT NULL DEFAULT ''")
        }
        migrator.registerMigration("4") { db in
            // A newer report replaces an older one that still waits.
            try db.execute(
                sql: "CREATE INDEX delivery_report ON delivery (lane, stable) WHERE route = ''")
        }
        migrator.registerMigration("5") { db in
            // Most leased rows are gone before anyone looks for them, so they are in no index.
            try db.execute(
                sql: """
                    DROP INDEX delivery_leased;
                    DROP INDEX delivery_due;
                    CREATE INDEX delivery_due ON delivery (lane, rank, due, id) WHERE leased = 0;
                    """)
        }
        migrator.registerMigration("6") { db in
            // New deliveries are stored in blocks; see BlockTables.
            try db.execute(
                sql: """
                    CREATE TABLE block (
                      id INTEGER PRIMARY KEY, lane INTEGER NOT NULL, rank INTEGER NOT NULL,
                      count INTEGER NOT NULL, bytes BLOB NOT NULL);
                    CREATE INDEX block_lane ON block (lane, rank, id, count);
                    CREATE TABLE progress (block INTEGER PRIMARY KEY, done BLOB NOT NULL);
                    """)
        }
        migrator.registerMigration("7") { db in
            // Keys of a commit in one row; see SeenKeys.
            try db.execute(
                sql: """
                    CREATE TABLE seen_group (id INTEGER PRIMARY KEY, keys BLOB NOT NULL);
                    CREATE TABLE seen_key (key BLOB PRIMARY KEY, until INTEGER NOT NULL) WITHOUT ROWID;
                    """)
            let seed = try SeenKeys.seed(db)
            let rows = try Row.fetchCursor(db, sql: "SELECT source, key, until FROM seen")
            while let row = try rows.next() {
                var bytes: [UInt8] = []
                SeenKey(seed: seed, row[0], row[1]).append(to: &bytes)
                let until: Int64 = row[2]
                try db.execute(
                    sql: "INSERT OR REPLACE INTO seen_key (key, until) VALUES (?, ?)",
                    arguments: [Data(bytes), until])
            }
            try db.execute(sql: "DROP TABLE seen")
        }
        migrator.registerMigration("8") { db in
            // How many of a delivery's attempts were free.
            try db.execute(
                sql: "ALTER TABLE delivery ADD COLUMN free INTEGER NOT NULL DEFAULT 0")
        }
        migrator.registerMigration("presence") { db in
            // `online` is now the time until which a device is online. For old rows that time is
            // unknown; an app that is still in front reports it again.
            try db.execute(sql: "UPDATE device SET online = 0")
        }
        migrator.registerMigration("tokens") { db in try TokenMigration.run(db) }
        migrator.registerMigration("badges") { db in try db.execute(sql: BadgeTables.schema) }
        migrator.registerMigration("outcomes") { db in
            // The stream of outcomes, one row per commit; see OutcomeTables. The next sequence number
            // is kept even when all rows are gone.
            try db.execute(
                sql: """
                    ALTER TABLE payload ADD COLUMN key TEXT NOT NULL DEFAULT '';
                    ALTER TABLE dead ADD COLUMN key TEXT NOT NULL DEFAULT '';
                    CREATE TABLE outcome (
                      first INTEGER PRIMARY KEY, count INTEGER NOT NULL, at INTEGER NOT NULL,
                      records BLOB NOT NULL);
                    CREATE TABLE outcome_receiver (
                      name TEXT PRIMARY KEY, next INTEGER NOT NULL) WITHOUT ROWID;
                    """)
        }
        migrator.registerMigration("owner") { db in
            // The owner of this database's leases, and its epoch.
            try db.execute(
                sql: """
                    CREATE TABLE owner (name TEXT NOT NULL, epoch INTEGER NOT NULL);
                    INSERT INTO owner (name, epoch) VALUES (lower(hex(randomblob(16))), 0);
                    """)
        }
        migrator.registerMigration("outbox") { db in try db.execute(sql: OutboxTables.schema) }
        migrator.registerMigration("flight") { db in
            // Blocks that a lane took over when they were committed; see BlockTables.
            try db.execute(sql: BlockTables.flightSchema)
        }
        migrator.registerMigration("history") { db in try db.execute(sql: HistoryTables.schema) }
        migrator.registerMigration("dead_age") { db in
            // The oldest dead letters go first.
            try db.execute(sql: "CREATE INDEX dead_at ON dead (at)")
        }
        migrator.registerMigration("stale") { db in try db.execute(sql: StaleTables.schema) }
        migrator.registerMigration("device_platform") { db in
            // The same text may be a token of several senders. Ids are never given out twice; see DeviceTables.
            let columns = """
                id, app, token, kind, platform, provider, source_token, user, locale, registered, seen,
                online, attributes
                """
            try db.execute(
                sql: """
                    CREATE TABLE device_new (
                      id INTEGER PRIMARY KEY, app TEXT NOT NULL, token TEXT NOT NULL,
                      kind TEXT NOT NULL, platform TEXT NOT NULL, provider TEXT NOT NULL,
                      source_token TEXT NOT NULL, user TEXT NOT NULL, locale TEXT NOT NULL,
                      registered INTEGER NOT NULL, seen INTEGER NOT NULL, online INTEGER NOT NULL,
                      attributes TEXT NOT NULL DEFAULT '', UNIQUE (app, token, platform, user));
                    INSERT INTO device_new (\(columns)) SELECT \(columns) FROM device;
                    DROP TABLE device;
                    ALTER TABLE device_new RENAME TO device;
                    CREATE INDEX device_user ON device (user, app, kind);
                    CREATE INDEX device_token ON device (token);
                    \(BadgeTables.trigger)
                    INSERT INTO counter (name, value) SELECT '\(DeviceTables.counter)', coalesce(max(id), 0)
                    FROM device;
                    """)
        }
        return migrator
    }
}
