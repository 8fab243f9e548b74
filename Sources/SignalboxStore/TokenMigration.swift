internal import GRDB
internal import SignalboxCore

/// Normalizes tokens of older files, and lets several users share one.
enum TokenMigration {
    static func run(_ db: Database) throws {
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
                  attributes TEXT NOT NULL DEFAULT '', UNIQUE (app, token, user));
                INSERT INTO device_new (\(columns)) SELECT \(columns) FROM device;
                DROP TABLE device;
                ALTER TABLE device_new RENAME TO device;
                CREATE INDEX device_user ON device (user, app, kind);
                CREATE INDEX device_token ON device (token);
                """)
        // Tokens with anything but lower-case hex digits, oldest first.
        let rows = try Row.fetchAll(
            db,
            sql: """
                SELECT id, app, token, platform, provider, source_token, registered FROM device
                WHERE token GLOB '*[^0-9a-f]*' ORDER BY registered, id
                """)
        for row in rows {
            var device = Device(
                app: row["app"], platform: row["platform"], provider: row["provider"],
                token: row["token"], sourceToken: row["source_token"])
            device.spell()
            guard device.token != row["token"] else { continue }
            let (id, registered): (Int64, Int64) = (row["id"], row["registered"])
            // Before, a token had one user: the last who registered it.
            let newer = try Int.fetchOne(
                db,
                sql: "SELECT 1 FROM device WHERE app = ? AND token = ? AND registered > ?",
                arguments: [device.app, device.token, registered])
            guard newer == nil else {
                try db.execute(sql: "DELETE FROM device WHERE id = ?", arguments: [id])
                continue
            }
            try db.execute(
                sql: "DELETE FROM device WHERE app = ? AND token = ?",
                arguments: [device.app, device.token])
            try db.execute(
                sql: "UPDATE device SET token = ?, source_token = ? WHERE id = ?",
                arguments: [device.token, device.sourceToken, id])
        }
    }
}
