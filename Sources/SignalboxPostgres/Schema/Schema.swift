internal import SignalboxTables

/// The tables, and their number in `meta`.
///
/// The number changes only with tables that gateways of this version could not use; then a list of steps from number to
/// number belongs here. What a newer gateway only adds keeps the number, so that both use one database.
enum Schema {
    static let number = 1
    static let historyParts: Int64 = 8

    static let tables =
        sequences + [gateway, lane] + block + delivery + dead + seen + mark + outcomes + devices
        + [Tables.outbox.postgres(), Tables.value.postgres()] + history

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

    /// A table in parts, one of which takes new rows; see `TableRotation` and `HistoryRotation`.
    private static func parted(_ table: String, _ columns: String, parts: Int64 = 2) -> [String] {
        [
            """
            CREATE TABLE signalbox.\(table) (\(columns)) PARTITION BY LIST (part)
            """,
            "INSERT INTO signalbox.meta (name, value) VALUES ('\(table)_part', 0)",
        ]
            + (0..<parts).map { part in
                """
                CREATE TABLE signalbox.\(table)_\(part) PARTITION OF signalbox.\(table)
                FOR VALUES IN (\(part))
                """
            }
    }

    private static let sequences = [
        // A range of ids is the number that the sequence gives and the 262,143 after it.
        "CREATE SEQUENCE signalbox.id_range INCREMENT 262144 START 1",
        "CREATE SEQUENCE signalbox.life",
        // A higher one is newer, even within a millisecond.
        "CREATE SEQUENCE signalbox.device_number",
    ]

    private static let gateway = """
        CREATE TABLE signalbox.gateway (
          name text PRIMARY KEY, life bigint NOT NULL, epoch bigint NOT NULL,
          started bigint NOT NULL, heartbeat bigint NOT NULL, version text NOT NULL,
          config text NOT NULL DEFAULT '')
        """

    private static let lane = """
        CREATE TABLE signalbox.lane (
          id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, sender text NOT NULL,
          app text NOT NULL, kind bigint NOT NULL, UNIQUE (sender, app, kind))
        """

    /// `due`: since when it can be leased; if it is held, when its lease ends. `owner`: the life that holds it, or held
    /// it last; 0 if never held. `n`: how many of its deliveries are neither settled nor moved (m0 to m3).
    private static let block =
        parted(
            "block",
            """
            id bigint NOT NULL, lane bigint NOT NULL, rank bigint NOT NULL, due bigint NOT NULL,
            owner bigint NOT NULL, n bigint NOT NULL, m0 bigint NOT NULL, m1 bigint NOT NULL,
            m2 bigint NOT NULL, m3 bigint NOT NULL, body bytea NOT NULL,
            part bigint NOT NULL DEFAULT 0, PRIMARY KEY (id, part)
            """)
        + ["CREATE INDEX block_due ON signalbox.block (lane, rank, due, id)"]

    private static let delivery =
        parted(
            "delivery",
            """
            id bigint NOT NULL, lane bigint NOT NULL, rank bigint NOT NULL, due bigint NOT NULL,
            owner bigint NOT NULL, attempt bigint NOT NULL, free bigint NOT NULL,
            deadline bigint NOT NULL, received bigint NOT NULL, stable text NOT NULL,
            route text NOT NULL, is_report boolean NOT NULL, attempts jsonb NOT NULL,
            body bytea NOT NULL, part bigint NOT NULL DEFAULT 0, \(staleColumns),
            PRIMARY KEY (id, part)
            """)
        + [
            "CREATE INDEX delivery_due ON signalbox.delivery (lane, rank, due, id)",
            "CREATE INDEX delivery_report ON signalbox.delivery (lane, stable) WHERE is_report",
        ] + staleIndexes("delivery")

    private static let dead =
        [
            Tables.dead.postgres(),
            // The oldest go first.
            "CREATE INDEX dead_at ON signalbox.dead (at)",
        ] + staleIndexes("dead")

    /// What a newer delivery makes obsolete; see `StaleMarks`.
    private static let staleColumns = """
        shown_key bigint, badge_key bigint, accepted bigint NOT NULL DEFAULT 0,
        stale bigint NOT NULL DEFAULT 0
        """

    private static func staleIndexes(_ table: String) -> [String] {
        ["shown", "badge"].map { key in
            """
            CREATE INDEX \(table)_\(key) ON signalbox.\(table) (\(key)_key)
            WHERE \(key)_key IS NOT NULL
            """
        }
    }

    private static let seen = parted(
        "seen",
        """
        key bytea NOT NULL, until bigint NOT NULL, part bigint NOT NULL DEFAULT 0,
        PRIMARY KEY (key, part)
        """)

    /// To ask whether a mark exists, a gateway writes the same mark with `is_claim` set.
    private static let mark = parted(
        "mark",
        """
        life bigint NOT NULL, channel bigint NOT NULL, n bigint NOT NULL,
        is_claim boolean NOT NULL DEFAULT false, part bigint NOT NULL DEFAULT 0,
        PRIMARY KEY (life, channel, n, part)
        """)

    private static let outcomes =
        [
            // Each append locks its only row, so that numbers have one order and no gap.
            "CREATE TABLE signalbox.outcome_order (id bigint PRIMARY KEY)",
            "INSERT INTO signalbox.outcome_order (id) VALUES (1)",
            // `sender`: the life that sends to it, `until` when. `named`: when a configuration last had it.
            Tables.receiver.postgres(also: [
                "sender bigint NOT NULL DEFAULT 0, until bigint NOT NULL DEFAULT 0",
                "named bigint NOT NULL DEFAULT 0",
            ]),
        ]
        + parted(
            "outcome",
            """
            \(Tables.outcome.columnsSQL), part bigint NOT NULL DEFAULT 0, PRIMARY KEY (first, part)
            """)

    /// The same text may be a token of several senders.
    private static let devices = [
        Tables.device.postgres(),
        "CREATE INDEX device_user ON signalbox.device (user_id, app)",
        "CREATE INDEX device_token ON signalbox.device (token)",
        Tables.badge.postgres(),
    ]

    /// The history of events and deliveries.
    private static let history =
        parted(
            "history",
            """
            part bigint NOT NULL, at bigint NOT NULL, gateway text NOT NULL, tags bytea NOT NULL,
            records bytea NOT NULL
            """, parts: historyParts)
        + ["CREATE INDEX history_at ON signalbox.history (at)"]
}
