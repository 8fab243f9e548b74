/// The tables, step by step. A step that was published is never changed: a later one adds to it, so that gateways of
/// two versions can use one database.
enum SchemaSteps {
    static let all: [[String]] = [first]

    /// Settings that make things faster. A database that does not know them does without.
    static let tuning = [
        // Blocks live for milliseconds, and are not worth compressing.
        "ALTER TABLE signalbox.block ALTER body SET STORAGE EXTERNAL",
        """
        ALTER TABLE signalbox.block SET (fillfactor = 70, autovacuum_vacuum_scale_factor = 0,
          autovacuum_vacuum_threshold = 2000, toast.autovacuum_vacuum_scale_factor = 0,
          toast.autovacuum_vacuum_threshold = 20000)
        """,
        """
        ALTER TABLE signalbox.delivery SET (fillfactor = 80, autovacuum_vacuum_scale_factor = 0.02,
          autovacuum_vacuum_threshold = 2000)
        """,
        """
        ALTER TABLE signalbox.mark SET (autovacuum_vacuum_scale_factor = 0,
          autovacuum_vacuum_threshold = 2000)
        """,
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
