public import SignalboxCore
internal import SignalboxTables
internal import SignalboxThreads

/// Adds what a copy brings to a database.
extension PostgresContents {
    /// Adds records and replaces the mark.
    public func write(
        _ records: [StoredRecord], mark: CopyMark?, replacing old: CopyMark?
    ) throws {
        var isOther = false
        do {
            try makeLanes(of: records)
            _ = try run(Statement.beginSQL)
            isOther = try CopyMark.read(tables) != old
            if !isOther {
                try send(records)
                try CopyMark.write(mark, tables)
            }
            link.send(isOther ? .rollback : .commit)
            _ = try finish()
        } catch let error as PostgresFault {
            if error.kind == .refused { _ = try? run("ROLLBACK") }
            throw fault(error)
        }
        guard !isOther else {
            throw StoreError("store-in-use", "another copy writes into the database \(place)")
        }
    }

    private func makeLanes(of records: [StoredRecord]) throws(PostgresFault) {
        var unknown: Set<LaneKey> = []
        var count = 0
        for case .delivery(let stored) in records where stored.death == nil {
            count += 1
            let lane = LaneKey(stored.delivery)
            if lanes[lane] == nil { unknown.insert(lane) }
        }
        if !unknown.isEmpty { try lanes.learn(unknown, link, byNs: deadlineNs) }
        // At most one block for each.
        if ids.count < count { ids = IDRange.of(try run(QueueSQL.nextRange.sql)) }
    }

    private func send(_ records: [StoredRecord]) throws {
        var seen: [(SeenKey, UInt64)] = []
        var drafts = Drafts()
        var singles = DeliveryRows()
        for record in records {
            switch record {
            case .numbers(let numbers): send(numbers)
            case .seen(let key, let until): seen.append((key, until))
            case .delivery(let stored):
                guard stored.death == nil else { continue }
                let lane = lanes[LaneKey(stored.delivery)] ?? 0
                if stored.isSingle {
                    singles.add(stored, lane: lane)
                } else {
                    drafts.add(
                        stored.delivery, receivedUnixMs: stored.receivedUnixMs, lane: lane, due: 0,
                        owner: 0)
                }
            case .outcomes(let row, _): takePlace(of: row)
            case .device, .badge, .value, .report, .receiver: break
            }
        }
        try CopiedTable.insert(records, tables)
        if !seen.isEmpty { send(seen) }
        if singles.count > 0 { link.send(QueueSQL.insertRows, singles.parameters) }
        send(drafts.take())
    }

    private func send(_ numbers: StoredNumbers) {
        for (name, value) in [("seed_0", numbers.seed.0), ("seed_1", numbers.seed.1)] {
            let values = Parameters(name, Int64(bitPattern: value))
            link.send(
                Statement(
                    "",
                    """
                    INSERT INTO signalbox.meta (name, value) VALUES ($1::text, $2::bigint)
                    ON CONFLICT (name) DO UPDATE SET value = excluded.value
                    """), values)
        }
        advance("id_range", past: numbers.lastID)
        advance("outbox_id_seq", past: numbers.lastReport)
        advance("device_number", past: numbers.lastRegistration)
        // The newest row says which number is next; nobody reads this one.
        link.send(Statement("", "DELETE FROM signalbox.outcome"))
        guard numbers.nextOutcome > 1 else { return }
        tables.insert(
            [
                [
                    .number(clamping: numbers.nextOutcome - 1), .number(1),
                    .number(clamping: SystemClock.unixMs), .bytes([]),
                ]
            ], into: Tables.outcome)
    }

    private func advance(_ sequence: String, past number: UInt64) {
        let values = Parameters(number + 1)
        link.send(
            Statement(
                "",
                """
                SELECT setval('signalbox.\(sequence)', $1::bigint, false) FROM signalbox.\(sequence)
                WHERE last_value < $1::bigint
                """), values)
    }

    /// It takes the place of the row that says which number is next.
    private func takePlace(of row: OutcomeRow) {
        let place = Parameters(row.first)
        link.send(
            Statement(
                "",
                """
                DELETE FROM signalbox.outcome
                WHERE first + count > $1::bigint AND records = ''::bytea
                """), place)
    }

    private func send(_ seen: [(key: SeenKey, until: UInt64)]) {
        let values = Parameters(seen.map(\.key.bytes), seen.map { Int64(clamping: $0.until) })
        link.send(
            Statement(
                "",
                """
                INSERT INTO signalbox.seen (key, until)
                SELECT key, until FROM unnest($1::bytea[], $2::bigint[]) AS new (key, until)
                """), values)
    }

    private func send(_ blocks: [Drafts.Block]) {
        guard !blocks.isEmpty else { return }
        var numbers: [[Int64]] = Array(repeating: [], count: 6)
        for block in blocks {
            let id = Int64(clamping: ids.popFirst() ?? 0)
            let row = [
                id, block.lane, block.rank, block.due, block.owner, Int64(block.deliveries.count),
            ]
            for (index, number) in row.enumerated() { numbers[index].append(number) }
        }
        var values = Parameters()
        for column in numbers { values.add(column) }
        values.add(blocks.map(\.bytes))
        link.send(QueueSQL.insertBlocks, values)
    }

    var deadlineNs: UInt64 { SystemClock.monotonicNs + 600_000_000_000 }
}
