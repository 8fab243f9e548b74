/// One change of the tables.
struct SchemaStep {
    var sql: [String]
    /// Gateways of the version before cannot work with it: it waits until none runs.
    var needsRest = false
}

/// The tables, step by step. A step that was published is never changed: a later one adds to it, so that gateways of
/// two versions can use one database.
enum SchemaSteps {
    /// All of this version.
    static let all = [
        SchemaStep(sql: first), SchemaStep(sql: second, needsRest: true), SchemaStep(sql: fleet),
        SchemaStep(sql: configurations), SchemaStep(sql: history), SchemaStep(sql: deadAge),
        SchemaStep(sql: stale),
        SchemaStep(sql: devicePlatform, needsRest: true),
    ]

    /// A gateway works with tables that have later steps, as long as they are of the same major version.
    static let major = 1

    /// Settings that make things faster. A database that does not know them does without.
    static let tuning =
        // Blocks live for milliseconds, and are not worth compressing.
        ["ALTER TABLE signalbox.block ALTER body SET STORAGE EXTERNAL"]
        + (0...1).flatMap { part in
            [
                """
                ALTER TABLE signalbox.block_\(part) SET (fillfactor = 70,
                  autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 2000,
                  toast.autovacuum_vacuum_scale_factor = 0,
                  toast.autovacuum_vacuum_threshold = 20000)
                """,
                """
                ALTER TABLE signalbox.delivery_\(part) SET (fillfactor = 80,
                  autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_threshold = 2000)
                """,
                """
                ALTER TABLE signalbox.mark_\(part) SET (autovacuum_vacuum_scale_factor = 0,
                  autovacuum_vacuum_threshold = 2000)
                """,
            ]
        }

    /// What happened, for those who ask later; see `HistoryRotation`.
    private static let history =
        [
            """
            CREATE TABLE IF NOT EXISTS signalbox.history (
              part bigint NOT NULL, at bigint NOT NULL, gateway text NOT NULL, tags bytea NOT NULL,
              records bytea NOT NULL) PARTITION BY LIST (part)
            """,
            "CREATE INDEX IF NOT EXISTS history_at ON signalbox.history (at)",
            """
            INSERT INTO signalbox.meta (name, value) VALUES ('history_part', 0)
            ON CONFLICT (name) DO NOTHING
            """,
        ]
        + (0..<HistoryRotation.count).map { part in
            """
            CREATE TABLE IF NOT EXISTS signalbox.history_\(part) PARTITION OF signalbox.history
            FOR VALUES IN (\(part))
            """
        }

    /// Tables whose rows come and go get two halves; see `Halves`.
    private static let second =
        halves(of: "block", key: "id", index: ("block_due", "(lane, rank, due, id)"))
        + [
            "ALTER INDEX signalbox.delivery_report RENAME TO delivery_0_report"
        ]
        + halves(of: "delivery", key: "id", index: ("delivery_due", "(lane, rank, due, id)"))
        + [
            "CREATE INDEX delivery_report ON signalbox.delivery (lane, stable) WHERE is_report",
            // Keys are not removed one by one any more.
            "DROP INDEX signalbox.seen_until",
        ]
        + halves(of: "seen", key: "key")
        // Whoever asks whether a mark is there writes one that says so.
        + ["ALTER TABLE signalbox.mark ADD COLUMN is_claim boolean NOT NULL DEFAULT false"]
        + halves(of: "mark", key: "life, channel, n")
        + halves(of: "outcome", key: "first")
        + ["INSERT INTO signalbox.meta (name, value) VALUES ('major', 1)"]

    /// The table becomes the first half of a new one.
    private static func halves(
        of table: String, key: String, index: (name: String, columns: String)? = nil
    ) -> [String] {
        let (whole, old) = ("signalbox.\(table)", "signalbox.\(table)_0")
        var out = [
            "ALTER TABLE \(whole) RENAME TO \(table)_0",
            "ALTER TABLE \(old) ADD COLUMN part bigint NOT NULL DEFAULT 0",
            "ALTER TABLE \(old) DROP CONSTRAINT \(table)_pkey",
            "CREATE TABLE \(whole) (LIKE \(old) INCLUDING DEFAULTS) PARTITION BY LIST (part)",
            "ALTER TABLE \(whole) ADD PRIMARY KEY (\(key), part)",
        ]
        if let index {
            out.append("ALTER INDEX signalbox.\(index.name) RENAME TO \(table)_0_due")
            out.append("CREATE INDEX \(index.name) ON \(whole) \(index.columns)")
        }
        return out + [
            "ALTER TABLE \(whole) ATTACH PARTITION \(old) FOR VALUES IN (0)",
            "CREATE TABLE \(whole)_1 PARTITION OF \(whole) FOR VALUES IN (1)",
            "INSERT INTO signalbox.meta (name, value) VALUES ('\(table)_part', 0)",
        ]
    }

    /// What an operator sees of a fleet, and who sends a receiver's outcomes: a life, and until when.
    private static let fleet = [
        "ALTER TABLE signalbox.gateway ADD COLUMN IF NOT EXISTS version text NOT NULL DEFAULT ''",
        "ALTER TABLE signalbox.outcome_receiver ADD COLUMN IF NOT EXISTS sender bigint NOT NULL DEFAULT 0",
        "ALTER TABLE signalbox.outcome_receiver ADD COLUMN IF NOT EXISTS until bigint NOT NULL DEFAULT 0",
    ]

    /// Which configuration each gateway has, and when a gateway last said that its own names a receiver.
    private static let configurations = [
        "ALTER TABLE signalbox.gateway ADD COLUMN IF NOT EXISTS config text NOT NULL DEFAULT ''",
        "ALTER TABLE signalbox.outcome_receiver ADD COLUMN IF NOT EXISTS named bigint NOT NULL DEFAULT 0",
    ]

    /// The oldest dead letters go first.
    private static let deadAge = ["CREATE INDEX IF NOT EXISTS dead_at ON signalbox.dead (at)"]

    /// What a newer delivery makes obsolete; see `StaleMarks`.
    private static let stale = ["delivery", "dead"].flatMap { table in
        [
            """
            ALTER TABLE signalbox.\(table) ADD COLUMN IF NOT EXISTS shown_key bigint,
              ADD COLUMN IF NOT EXISTS badge_key bigint,
              ADD COLUMN IF NOT EXISTS accepted bigint NOT NULL DEFAULT 0,
              ADD COLUMN IF NOT EXISTS stale bigint NOT NULL DEFAULT 0
            """
        ]
            + ["shown", "badge"].map { key in
                """
                CREATE INDEX IF NOT EXISTS \(table)_\(key) ON signalbox.\(table) (\(key)_key)
                WHERE \(key)_key IS NOT NULL
                """
            }
    }

    /// The same text may be a token of several senders.
    private static let devicePlatform = [
        "ALTER TABLE signalbox.device DROP CONSTRAINT device_pkey",
        "ALTER TABLE signalbox.device ADD PRIMARY KEY (app, token, platform, user_id)",
    ]

    private static let first = [
        // A range of ids is the number that the sequence gives and the 262,143 after it.
        "CREATE SEQUENCE signalbox.id_range INCREMENT 262144 START 1",
        "CREATE SEQUENCE signalbox.life",
        // A higher one is newer, even within a millisecond.
        "CREATE SEQUENCE signalbox.device_number",
        """
        CREATE TABLE signalbox.gateway (
          name text PRIMARY KEY, life bigint NOT NULL, epoch bigint NOT NULL,
          started bigint NOT NULL, heartbeat bigint NOT NULL)
        """,
        """
        CREATE TABLE signalbox.mark (
          life bigint NOT NULL, channel bigint NOT NULL, n bigint NOT NULL,
          PRIMARY KEY (life, channel, n))
        """,
        """
        CREATE TABLE signalbox.lane (
          id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, sender text NOT NULL,
          app text NOT NULL, kind bigint NOT NULL, UNIQUE (sender, app, kind))
        """,
        // `due`: since when it can be leased; of what is held, when its lease ends. `owner`: the life that holds it,
        // or held it last; 0: none. `n`: how many of its deliveries are neither settled nor elsewhere (m0 to m3).
        """
        CREATE TABLE signalbox.block (
          id bigint PRIMARY KEY, lane bigint NOT NULL, rank bigint NOT NULL, due bigint NOT NULL,
          owner bigint NOT NULL, n bigint NOT NULL, m0 bigint NOT NULL, m1 bigint NOT NULL,
          m2 bigint NOT NULL, m3 bigint NOT NULL, body bytea NOT NULL)
        """,
        "CREATE INDEX block_due ON signalbox.block (lane, rank, due, id)",
        """
        CREATE TABLE signalbox.delivery (
          id bigint PRIMARY KEY, lane bigint NOT NULL, rank bigint NOT NULL, due bigint NOT NULL,
          owner bigint NOT NULL, attempt bigint NOT NULL, free bigint NOT NULL,
          deadline bigint NOT NULL, received bigint NOT NULL, stable text NOT NULL,
          route text NOT NULL, is_report boolean NOT NULL, attempts jsonb NOT NULL, body bytea NOT NULL)
        """,
        "CREATE INDEX delivery_due ON signalbox.delivery (lane, rank, due, id)",
        "CREATE INDEX delivery_report ON signalbox.delivery (lane, stable) WHERE is_report",
        "CREATE TABLE signalbox.seen (key bytea PRIMARY KEY, until bigint NOT NULL)",
        "CREATE INDEX seen_until ON signalbox.seen (until)",
        """
        CREATE TABLE signalbox.dead (
          id bigint PRIMARY KEY, at bigint NOT NULL, lane bigint NOT NULL, rank bigint NOT NULL,
          reason text NOT NULL, route text NOT NULL, deadline bigint NOT NULL,
          received bigint NOT NULL, stable text NOT NULL, is_report boolean NOT NULL,
          attempts jsonb NOT NULL, body bytea NOT NULL)
        """,
        """
        CREATE TABLE signalbox.device (
          app text NOT NULL, token text NOT NULL, user_id text NOT NULL, number bigint NOT NULL,
          kind text NOT NULL, platform text NOT NULL, provider text NOT NULL,
          source_token text NOT NULL, locale text NOT NULL, registered bigint NOT NULL,
          online bigint NOT NULL, attributes text NOT NULL, PRIMARY KEY (app, token, user_id))
        """,
        "CREATE INDEX device_user ON signalbox.device (user_id, app)",
        "CREATE INDEX device_token ON signalbox.device (token)",
        """
        CREATE TABLE signalbox.badge (
          app text NOT NULL, user_id text NOT NULL, number bigint NOT NULL,
          PRIMARY KEY (app, user_id))
        """,
        """
        CREATE TABLE signalbox.outbox (
          id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, instance text NOT NULL,
          kind bigint NOT NULL, at bigint NOT NULL, reason text NOT NULL, subject text NOT NULL,
          event bigint NOT NULL, is_deduped boolean NOT NULL, app text NOT NULL,
          device bytea NOT NULL)
        """,
        """
        CREATE TABLE signalbox.value (
          instance text NOT NULL, key text NOT NULL, value bytea NOT NULL, expires bigint,
          PRIMARY KEY (instance, key))
        """,
        // Its only row is locked by whoever appends, so that numbers have one order and no gap.
        "CREATE TABLE signalbox.outcome_order (id bigint PRIMARY KEY)",
        "INSERT INTO signalbox.outcome_order (id) VALUES (1)",
        """
        CREATE TABLE signalbox.outcome (
          first bigint PRIMARY KEY, count bigint NOT NULL, at bigint NOT NULL,
          records bytea NOT NULL)
        """,
        """
        CREATE TABLE signalbox.outcome_receiver (name text PRIMARY KEY, next bigint NOT NULL)
        """,
    ]
}
