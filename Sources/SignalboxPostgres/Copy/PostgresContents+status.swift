public import SignalboxCore
internal import SignalboxThreads

/// What an operator asks about a database.
extension PostgresContents {
    /// Looks into a database, also while gateways use it; changes nothing.
    public static func status(_ address: PostgresAddress) throws -> StoreStatus {
        let opening = try Opening(
            address, usesNames: false, locks: LockWait(maxMs: LockWait.lookMs))
        return try opening.reporting { () throws(PostgresFault) in try status(opening, address) }
    }

    /// Why a gateway could not start on a database; nil if it could. Changes nothing.
    public static func startFault(_ address: PostgresAddress) -> StoreError? {
        do throws(StoreError) {
            let opening = try Opening(
                address, usesNames: false, locks: LockWait(maxMs: LockWait.lookMs))
            let hasCopy = try opening.reporting { () throws(PostgresFault) in
                guard try opening.hasTables() else { return false }
                return try opening.run(Opening.hasCopy).number(0, 0) != 0
            }
            return hasCopy ? StoreError.unfinishedCopy(address.place) : nil
        } catch {
            return error
        }
    }

    private static func status(
        _ opening: Opening, _ address: PostgresAddress
    ) throws(PostgresFault) -> StoreStatus {
        let link = opening.link
        func run(_ sql: String) throws(PostgresFault) -> Rows { try opening.run(sql) }
        let version = try run("SELECT current_setting('server_version')").text(0, 0)
        var out = StoreStatus(engine: "PostgreSQL \(version)", place: address.place)
        out.schema =
            switch try opening.schemaNumber() {
            case 0: .missing
            case Schema.number: .current(Schema.number)
            case let number: .unknown(number, known: Schema.number)
            }
        out.hasUnfinishedCopy = try run(Opening.hasCopy).number(0, 0) != 0
        guard out.schema != .missing else { return out }
        let gateways = try run(
            """
            SELECT name, \(ClockSQL.nowMs) - abs(greatest(heartbeat, -9223372036854775807))
            FROM signalbox.gateway ORDER BY name
            """)
        out.gateways = (0..<gateways.count).map { row in
            .init(
                name: gateways.text(row, 0), silentMs: UInt64(clamping: gateways.number(row, 1)))
        }
        guard case .current = out.schema else { return out }
        let deadlineNs = SystemClock.monotonicNs + maxNs
        out.counts = try PostgresFault.only {
            try TableCounts.all(PostgresTables(link: link, deadlineNs: deadlineNs))
        }
        let lanes = try run(TableCounts.waiting)
        out.lanes = (0..<lanes.count).map { row in
            (LaneKey(lanes, row, from: 0), Int(lanes.number(row, 3)))
        }.sorted { $0.0 < $1.0 }
        out.bytes = Int(
            try run(
                """
                SELECT coalesce(sum(pg_total_relation_size(c.oid)), 0)::bigint FROM pg_class c
                JOIN pg_namespace n ON n.oid = c.relnamespace
                WHERE n.nspname = 'signalbox' AND c.relkind = 'r'
                """
            ).number(0, 0))
        return out
    }

    /// Creates the tables if they are missing. Returns whether it did.
    ///
    /// `waiting` is told what it waits for.
    public static func migrate(
        _ address: PostgresAddress, waiting: @escaping (String) -> Void = { _ in }
    ) throws -> Bool {
        let locks = LockWait(maxMs: LockWait.startMs, tell: waiting)
        return try Opening(address, usesNames: false, locks: locks).makeTables()
    }
}
