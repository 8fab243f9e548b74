internal import SignalboxCore
internal import SignalboxTables

/// The statements of the queue. `$1` is the life of this gateway where one is needed.
enum QueueSQL {
    // MARK: Ids and lanes

    static let nextRange = Statement("next_range", "SELECT nextval('signalbox.id_range')")

    static let makeLane = Statement(
        "make_lane",
        """
        INSERT INTO signalbox.lane (sender, app, kind) VALUES ($1::text, $2::text, $3::bigint)
        ON CONFLICT (sender, app, kind) DO NOTHING
        """)

    static let lanes = Statement("lanes", "SELECT id, sender, app, kind FROM signalbox.lane")

    // MARK: Coming

    /// Rows: the keys that were new, or had expired. What changes the current half waits until no such statement runs.
    static let see = Statement("see", seen)

    /// Fails if one of the keys, of which there are `$4`, is known.
    static let seeNew = Statement(
        "see_new",
        """
        WITH new AS (\(seen))
        SELECT sqrt(CASE WHEN count(*) = $4::bigint THEN 1 ELSE -1 END) FROM new
        """)

    /// Rows: which of the given keys are already stored.
    static let known = Statement(
        "known",
        "SELECT key FROM signalbox.seen WHERE key = ANY ($1::bytea[]) AND until > $2::bigint")

    private static let seen =
        """
        INSERT INTO signalbox.seen AS s (part, key, until)
        SELECT \(CurrentHalf.of("seen")), key, until
        FROM unnest($1::bytea[], $2::bigint[]) AS new (key, until)
        WHERE NOT EXISTS (
          SELECT 1 FROM signalbox.seen o WHERE o.key = new.key AND o.until > $3::bigint)
        ON CONFLICT (key, part) DO UPDATE SET until = excluded.until WHERE s.until <= $3::bigint
        RETURNING key
        """

    static let insertBlocks = Statement(
        "insert_blocks",
        """
        INSERT INTO signalbox.block (part, id, lane, rank, due, owner, n, m0, m1, m2, m3, body)
        SELECT \(CurrentHalf.of("block")), id, lane, rank, due, owner, n, 0, 0, 0, 0, body
        FROM unnest($1::bigint[], $2::bigint[], $3::bigint[], $4::bigint[], $5::bigint[],
          $6::bigint[], $7::bytea[])
          AS new (id, lane, rank, due, owner, n, body)
        """)

    static let insertRows = Statement(
        "insert_rows",
        """
        INSERT INTO signalbox.delivery (part, id, lane, rank, due, owner, attempt, free, deadline,
          received, stable, route, is_report, attempts, body, \(StaleColumns.names))
        SELECT \(CurrentHalf.of("delivery")), id, lane, rank, due, owner, attempt, free, deadline, received, stable, route,
          report = 1, attempts::jsonb, body, \(StaleColumns.values)
        FROM unnest($1::bigint[], $2::bigint[], $3::bigint[], $4::bigint[], $5::bigint[], $6::bigint[],
          $7::bigint[], $8::bigint[], $9::bigint[], $10::text[], $11::text[], $12::bigint[],
          $13::text[], $14::bytea[], $15::bigint[], $16::bigint[], $17::bigint[], $18::bigint[])
          AS new (id, lane, rank, due, owner, attempt, free, deadline, received, stable, route, report,
          attempts, body, \(StaleColumns.names))
        """)

    /// A newer report about a device replaces waiting ones.
    static let supersede = Statement(
        "supersede",
        """
        DELETE FROM signalbox.delivery d USING unnest($1::bigint[], $2::text[]) AS new (lane, stable)
        WHERE d.is_report AND d.lane = new.lane AND d.stable = new.stable RETURNING d.id
        """)

    // MARK: Settling

    /// Fails if a block is not held, or its remaining deliveries differ from what this gateway knows.
    static let endBlocks = Statement(
        "end_blocks",
        """
        WITH gone AS (DELETE FROM signalbox.block b
          USING unnest($2::bigint[], $3::bigint[]) AS v (id, n)
          WHERE b.id = v.id AND b.owner = $1::bigint AND b.n = v.n RETURNING 1)
        SELECT 1 / (CASE WHEN count(*) = $4::bigint THEN 1 ELSE 0 END) FROM gone
        """)

    /// Fails if a block is not held, or a mark is already set.
    static let markBlocks = Statement(
        "mark_blocks",
        """
        WITH marked AS (UPDATE signalbox.block b SET n = b.n - v.n, m0 = b.m0 | v.m0,
            m1 = b.m1 | v.m1, m2 = b.m2 | v.m2, m3 = b.m3 | v.m3
          FROM unnest($2::bigint[], $3::bigint[], $4::bigint[], $5::bigint[], $6::bigint[],
            $7::bigint[]) AS v (id, n, m0, m1, m2, m3)
          WHERE b.id = v.id AND b.owner = $1::bigint AND b.m0 & v.m0 = 0 AND b.m1 & v.m1 = 0
            AND b.m2 & v.m2 = 0 AND b.m3 & v.m3 = 0 RETURNING 1)
        SELECT 1 / (CASE WHEN count(*) = $8::bigint THEN 1 ELSE 0 END) FROM marked
        """)

    static let heldBlocks = Statement(
        "held_blocks",
        """
        SELECT id, m0, m1, m2, m3 FROM signalbox.block
        WHERE id = ANY ($2::bigint[]) AND owner = $1::bigint
        """)

    private static let isMine = "d.owner IN (0, $1::bigint)"

    static let endRows = Statement(
        "end_rows",
        """
        DELETE FROM signalbox.delivery d WHERE d.id = ANY ($2::bigint[]) AND \(isMine) RETURNING d.id
        """)

    static let releaseRows = Statement(
        "release_rows",
        """
        UPDATE signalbox.delivery d SET owner = 0, due = 0
        WHERE d.id = ANY ($2::bigint[]) AND \(isMine) RETURNING d.id
        """)

    /// Of a long outage, the first and the last attempt are kept.
    static let retryRows = Statement(
        "retry_rows",
        """
        UPDATE signalbox.delivery d SET owner = 0, due = v.due, attempt = v.attempt,
          free = least(greatest(d.free, 0), 1000000000) + v.free, attempts = CASE
            WHEN jsonb_typeof(d.attempts) <> 'array' THEN jsonb_build_array(v.record::jsonb)
            WHEN v.free = 1 AND d.attempts -> -1 ->> 'reason' = v.reason
              AND d.attempts -> -2 ->> 'reason' = v.reason
            THEN (d.attempts - (-1)) || v.record::jsonb ELSE d.attempts || v.record::jsonb END
        FROM unnest($2::bigint[], $3::bigint[], $4::bigint[], $5::bigint[], $6::text[], $7::text[])
          AS v (id, due, attempt, free, reason, record)
        WHERE d.id = v.id AND \(isMine) RETURNING d.id
        """)

    static let buryRows = Statement(
        "bury_rows",
        """
        WITH gone AS (DELETE FROM signalbox.delivery d
          USING unnest($2::bigint[], $3::bigint[], $4::text[], $5::text[])
            AS v (id, at, reason, record)
          WHERE d.id = v.id AND \(isMine)
          RETURNING d.id, v.at, d.lane, d.rank, v.reason, d.route, d.deadline, d.received, d.stable,
            CASE jsonb_typeof(d.attempts)
              WHEN 'array' THEN d.attempts || v.record::jsonb
              ELSE jsonb_build_array(v.record::jsonb) END AS attempts, d.body, \(StaleColumns.names))
        INSERT INTO signalbox.dead (\(Tables.dead.names))
        SELECT g.id, at, reason, coalesce(sender, ''), coalesce(app, ''), coalesce(kind, 0), route, rank,
          deadline, received, stable, attempts::text, body, \(StaleColumns.names)
        FROM gone g LEFT JOIN signalbox.lane l ON l.id = g.lane RETURNING id
        """)

    // MARK: Leasing

    /// `$5`: leases of others that ended later still count. `$6`: this gateway.
    private static let isFree = "AND (due <= $5::bigint OR owner IN (0, $6::bigint))"

    static let dueRows = Statement(
        "due_rows",
        """
        SELECT id, owner FROM signalbox.delivery
        WHERE lane = $1::bigint AND rank = $2::bigint AND due <= $3::bigint \(isFree)
        ORDER BY due, id LIMIT $4::bigint FOR UPDATE SKIP LOCKED
        """)

    static let dueBlocks = Statement(
        "due_blocks",
        """
        SELECT id, n, owner FROM signalbox.block
        WHERE lane = $1::bigint AND rank = $2::bigint AND due <= $3::bigint \(isFree)
        ORDER BY due, id LIMIT $4::bigint FOR UPDATE SKIP LOCKED
        """)

    /// For a probe: of the next few, one that was never tried, or else the first. What was never tried and is not due
    /// waits for its time.
    static let probeRow = Statement(
        "probe_row",
        """
        SELECT id FROM signalbox.delivery WHERE id = (
          SELECT id FROM (SELECT id, attempt, due FROM signalbox.delivery
            WHERE lane = $1::bigint AND rank = $2::bigint
              AND (due <= $3::bigint OR owner = 0 AND (attempt > 1 OR free > 0))
            ORDER BY due, id LIMIT 100) AS next
          ORDER BY attempt > 1, due, id LIMIT 1)
        FOR UPDATE SKIP LOCKED
        """)

    static let probeBlock = Statement(
        "probe_block",
        """
        SELECT id, n FROM signalbox.block
        WHERE lane = $1::bigint AND rank = $2::bigint AND (owner = 0 OR due <= $3::bigint)
        ORDER BY due, id LIMIT 1 FOR UPDATE SKIP LOCKED
        """)

    static let takeRows = Statement(
        "take_rows",
        """
        UPDATE signalbox.delivery SET owner = $1::bigint, due = $2::bigint
        WHERE id = ANY ($3::bigint[]) RETURNING id, attempt, free, deadline, received, body, stale
        """)

    static let takeBlocks = Statement(
        "take_blocks",
        """
        UPDATE signalbox.block SET owner = $1::bigint, due = $2::bigint
        WHERE id = ANY ($3::bigint[]) RETURNING id, m0, m1, m2, m3, body, n
        """)

    static let readBlock = Statement(
        "read_block",
        "SELECT id, m0, m1, m2, m3, body, n FROM signalbox.block WHERE id = $1::bigint")

    /// Marks deliveries as moved from a block to another one, even if another gateway holds the rest.
    static let moveOut = Statement(
        "move_out",
        """
        UPDATE signalbox.block SET n = least(greatest(n, 0), 256) - $2::bigint, m0 = m0 | $3::bigint, m1 = m1 | $4::bigint,
          m2 = m2 | $5::bigint, m3 = m3 | $6::bigint
        WHERE id = $1::bigint
        """)

    /// Sets how many deliveries are left in a damaged block.
    static let writeOff = Statement(
        "write_off", "UPDATE signalbox.block SET n = $2::bigint WHERE id = $1::bigint")

    static let dropEmpty = Statement(
        "drop_empty", "DELETE FROM signalbox.block WHERE id = $1::bigint AND n = 0")

    /// When the lane has something to lease next, held or not.
    static let nextDue: Statement = {
        let parts = ["block", "delivery"].flatMap { table in
            (0...2).map { rank in
                """
                (SELECT due FROM signalbox.\(table) WHERE lane = $1::bigint AND rank = \(rank)
                  ORDER BY due LIMIT 1)
                """
            }
        }
        return Statement("next_due", "SELECT least(\(parts.joined(separator: ", ")))")
    }()

    static let extendBlocks = Statement(
        "extend_blocks",
        """
        UPDATE signalbox.block SET due = $2::bigint
        WHERE id = ANY ($3::bigint[]) AND owner = $1::bigint RETURNING id, m0, m1, m2, m3
        """)

    static let extendRows = Statement(
        "extend_rows",
        """
        UPDATE signalbox.delivery SET due = $2::bigint
        WHERE id = ANY ($3::bigint[]) AND owner = $1::bigint RETURNING id
        """)

    // MARK: Looking

    static let hasten = Statement(
        "hasten",
        """
        UPDATE signalbox.delivery SET due = $2::bigint
        WHERE lane = $1::bigint AND owner = 0 AND free > 0 AND due > $2::bigint
        """)

    private static func someDue(_ condition: String) -> String {
        ["block", "delivery"].flatMap { table in
            (0...2).map { rank in
                """
                EXISTS (SELECT 1 FROM signalbox.\(table) w
                  WHERE w.lane = l.id AND w.rank = \(rank) AND \(condition))
                """
            }
        }.joined(separator: " OR ")
    }

    /// `$1`: since when they are due.
    static let dueLanes = Statement(
        "due_lanes",
        "SELECT l.sender, l.app, l.kind FROM signalbox.lane l WHERE \(someDue("w.due <= $1::bigint"))"
    )

    static let waitingLanes = Statement(
        "waiting_lanes",
        """
        SELECT l.sender, l.app, l.kind FROM signalbox.lane l
        WHERE \(someDue("w.due <= $1::bigint")) OR \(someDue("w.owner = 0"))
        """)

    static let waiting = Statement(
        "waiting",
        """
        SELECT ((SELECT coalesce(sum(least(greatest(n, 0), 256)), 0) FROM signalbox.block)
          + (SELECT count(*) FROM signalbox.delivery))::bigint
        """)

    /// One row: how many other gateways were seen lately, and the configurations of all of them if these differ.
    static let beat = Statement(
        "beat",
        """
        WITH clock AS (SELECT \(ClockSQL.nowMs) AS now),
          beat AS (UPDATE signalbox.gateway SET heartbeat = clock.now, config = $2::text FROM clock
            WHERE life = $1::bigint)
        SELECT count(*) FILTER (WHERE life <> $1::bigint),
          CASE WHEN count(DISTINCT config) FILTER (WHERE config <> '') > 1
            THEN string_agg(name || ' ' || config, ', ' ORDER BY name) END
        FROM signalbox.gateway, clock WHERE heartbeat > clock.now - \(Fleet.silentAfterMs)
        """)

    /// This gateway stops: it counts as dead at once.
    static let leave = Statement(
        "leave",
        "UPDATE signalbox.gateway SET heartbeat = -\(ClockSQL.nowMs) WHERE life = $1::bigint")

    /// The names of gateways whose lives have not ended.
    static let names = Statement(
        "names",
        "SELECT life, name FROM signalbox.gateway WHERE life = ANY ($1::bigint[])")

    /// Notifies other gateways of released rows.
    static let notifyReleased = Statement(
        "notify_released",
        """
        SELECT pg_notify('signalbox', $1::text || string_agg(DISTINCT lane::text, ','))
        FROM signalbox.delivery WHERE id = ANY ($2::bigint[]) AND owner = 0 HAVING count(*) > 0
        """)

    static let notify = Statement("notify", "SELECT pg_notify('signalbox', $1::text)")
}
