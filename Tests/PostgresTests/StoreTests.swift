import PluginRig
import SignalboxCore
import Synchronization
import Testing

@testable import SignalboxPostgres

/// What only a store on PostgreSQL has: its schema, its sweep, its connections.
@Suite struct PostgresStoreTests {
    private func options(_ database: PostgresDatabase, _ owner: String = "one") throws
        -> PostgresOptions
    {
        var options = PostgresOptions(
            address: try PostgresAddress(database.address), owner: owner, onNotice: { _ in })
        options.patienceMs = 60_000
        return options
    }

    private func open(_ options: PostgresOptions) async throws -> PostgresStore {
        try await Tool.aside { try PostgresStore.open(options) }
    }

    private func append(_ store: PostgresStore, _ id: UInt64, key: String = "") async -> StoreAnswer
    {
        await withCheckedContinuation { continuation in
            store.append(Self.entry([id], key: key)) { continuation.resume(returning: $0) }
        }
    }

    private static func entry(
        _ ids: [UInt64], key: String = "", taken: Set<UInt64> = []
    ) -> StoreEntry {
        let deliveries = ids.map { id in
            Delivery(
                id: id, eventID: id, source: "s", subject: "", route: "r", sender: "apns",
                stableID: "stable-\(id)", deadlineUnixMs: 0,
                content: SharedNotification(PushNotification(), receivedUnixMs: 0),
                device: Device(token: "t\(id)"))
        }
        let item = StoreEntry.Item(
            event: Event(id: ids.first ?? 0, source: "s", type: "t", dedupe: key),
            deliveries: deliveries, taken: taken)
        return StoreEntry(items: [item], receivedUnixMs: 1, dedupeMs: 60_000)
    }

    private static func writer(
        _ store: PostgresStore, _ options: PostgresOptions, _ shared: SharedState
    ) -> (QueueWriter, Session) {
        let outages = OutageTracker { _ in }
        let writer = QueueWriter(store.life, store.clock, seed: (1, 2), options, shared, outages)
        let session = Session(
            options.address, usesNames: true, store.life, channel: 9, store.clock)
        return (writer, session)
    }

    @Test func `a gateway knows whether others live`() async throws {
        let database = try await PostgresServer.shared().database()
        let options = try options(database)
        let one = try await open(options)
        let shared = SharedState(waiting: 0, outcomes: 0)
        let (writer, session) = Self.writer(one, options, shared)
        func others() -> Int {
            // It sweeps.
            _ = writer.perform([], session)
            return shared.others.load(ordering: .relaxed)
        }
        #expect(others() == 0)
        let two = try await open(self.options(database, "two"))
        #expect(others() == 1)
        await two.close()
        // Silent for a minute.
        try await database.run(
            "UPDATE signalbox.gateway SET heartbeat = heartbeat - 60000 WHERE name = 'two'")
        #expect(others() == 0)
        await one.close()
        try await database.remove()
    }

    @Test func `an outcome counts hours after its lease, if nobody has taken the delivery over`()
        async throws
    {
        let database = try await PostgresServer.shared().database()
        let passedMs = Atomic<UInt64>(0)
        var options = try options(database)
        options.offsetMs = { passedMs.load(ordering: .relaxed) }
        let store = try await open(options)
        let (writer, session) = Self.writer(store, options, SharedState(waiting: 0, outcomes: 0))
        let entry = Self.entry([1, 2], taken: [1, 2])
        #expect(writer.perform([.append(entry, untilNs: .max) { _ in }], session) == nil)
        passedMs.store(7_200_000, ordering: .relaxed)
        // It sweeps.
        #expect(writer.perform([], session) == nil)
        let lost = Mutex<[UInt64]?>(nil)
        let settle = QueueJob.settle([.delivered(1), .delivered(2)], OutcomePack()) { result in
            lost.withLock { $0 = (try? result.get())?.lost }
        }
        #expect(writer.perform([settle], session) == nil)
        #expect(lost.withLock { $0 } == [])
        #expect(try await database.run("SELECT count(*) FROM signalbox.block").hasPrefix("0"))
        await store.close()
        try await database.remove()
    }

    @Test func `after an outage, what a gateway sent is settled before others may lease it`()
        async throws
    {
        let database = try await PostgresServer.shared().database()
        let passedMs = Atomic<UInt64>(0)
        var options = try options(database)
        // Longer than a busy machine takes for all of this.
        options.leaseMs = 1_200_000
        options.offsetMs = { passedMs.load(ordering: .relaxed) }
        var others = options
        others.owner = "two"
        let stores = (try await open(options), try await open(others))
        let one = Self.writer(stores.0, options, SharedState(waiting: 0, outcomes: 0))
        let two = Self.writer(stores.1, others, SharedState(waiting: 0, outcomes: 0))
        let entry = Self.entry([1, 2], taken: [1, 2])
        #expect(one.0.perform([.append(entry, untilNs: .max) { _ in }], one.1) == nil)
        let lane = LaneKey(entry.items[0].deliveries[0])
        let got = Mutex<StoreLease?>(nil)
        let lease = QueueJob.lease(lane, LeaseWish(max: 10, forMs: 1_200_000)) { result in
            got.withLock { $0 = try? result.get() }
        }
        #expect(two.0.perform([lease], two.1) == nil)
        #expect(got.withLock { $0?.deliveries.count } == 0)
        try await database.refuse(true)
        #expect(two.0.perform([lease], two.1) != nil)
        passedMs.store(1_800_000, ordering: .relaxed)
        try await database.refuse(false)
        while two.0.perform([lease], two.1) != nil { await Task.yield() }
        #expect(got.withLock { $0?.deliveries.count } == 0)
        #expect(got.withLock { $0?.hasMore } == false)
        #expect(got.withLock { $0?.nextDueInMs ?? 0 } > 0)
        let lost = Mutex<[UInt64]?>(nil)
        let settle = QueueJob.settle([.delivered(1)], OutcomePack()) { result in
            lost.withLock { $0 = (try? result.get())?.lost }
        }
        while one.0.perform([settle], one.1) != nil { await Task.yield() }
        #expect(lost.withLock { $0 } == [])
        passedMs.store(1_900_000, ordering: .relaxed)
        #expect(two.0.perform([lease], two.1) == nil)
        #expect(got.withLock { $0?.deliveries.map(\.id) } == [2])
        await stores.0.close()
        await stores.1.close()
        try await database.remove()
    }

    @Test func `gateways that start at once make one schema`() async throws {
        let database = try await PostgresServer.shared().database()
        let stores = try await withThrowingTaskGroup(of: PostgresStore.self) { group in
            for number in 0..<4 {
                let options = try options(database, "gateway \(number)")
                group.addTask { try await open(options) }
            }
            return try await group.reduce(into: []) { $0.append($1) }
        }
        #expect(Set(stores.map(\.life.number)).count == 4)
        let version = try await database.run(
            "SELECT value FROM signalbox.meta WHERE name = 'schema'")
        #expect(version.hasPrefix("1"))
        for store in stores { await store.close() }
        try await database.remove()
    }

    /// What a caller gave with its job.
    private final class Witness: Sendable {}

    @Test func `a group of jobs ends with its answers`() async throws {
        let database = try await PostgresServer.shared().database()
        let store = try await open(options(database))
        var witness: Witness? = Witness()
        weak let seen = witness
        await withCheckedContinuation { continuation in
            store.append(StoreEntry(items: [], receivedUnixMs: 1, dedupeMs: 0)) { [witness] _ in
                withExtendedLifetime(witness) { continuation.resume() }
            }
        }
        witness = nil
        // The next group begins after the end of the first one.
        #expect(await append(store, 2) != .full)
        #expect(seen == nil)
        await store.close()
        try await database.remove()
    }

    @Test func `an event whose time is over before its transaction begins is not stored`()
        async throws
    {
        let database = try await PostgresServer.shared().database()
        let options = try options(database)
        let store = try await open(options)
        let (writer, session) = Self.writer(store, options, SharedState(waiting: 0, outcomes: 0))
        let answers = Mutex<[StoreAnswer]>([])
        // The process was stopped after the first one had come.
        let jobs: [QueueJob] = [(1, 1), (2, UInt64.max)].map { id, untilNs in
            .append(Self.entry([id]), untilNs: untilNs) { answer in
                answers.withLock { $0.append(answer) }
            }
        }
        #expect(writer.perform(jobs, session) == nil)
        let (late, inTime) = answers.withLock { ($0.first, $0.last) }
        #expect(late == .failed(StoreFailure.slow.message))
        guard case .committed = inTime else {
            Issue.record("\(String(describing: inTime))")
            return
        }
        #expect(try await database.blocked() == 1)
        await store.close()
        try await database.remove()
    }

    @Test func `a setting under which events can be lost is a warning`() async throws {
        let database = try await PostgresServer.shared().database()
        try await database.run(
            "ALTER DATABASE \(database.name) SET synchronous_commit = off")
        let warnings = Mutex<[String]>([])
        var options = try options(database)
        options.onNotice = { notice in
            if case .warning(let words) = notice { warnings.withLock { $0.append(words) } }
        }
        await (try await open(options)).close()
        #expect(warnings.withLock { $0 }.first?.contains("synchronous_commit = off") == true)
        try await database.remove()
    }

    @Test func `without prepared statements and notices it works as well`() async throws {
        let database = try await PostgresServer.shared().database()
        var made = try options(database)
        made.usesNames = false
        made.hasNotices = false
        let one = try await open(made)
        made.owner = "two"
        let two = try await open(made)
        let (lanes, tell) = AsyncStream.makeStream(of: [LaneKey].self)
        two.watch { tell.yield($0) }
        guard case .committed = await append(one, 1) else {
            Issue.record("the entry was refused")
            return
        }
        // It looks by itself.
        #expect(await lanes.first { _ in true } == [LaneKey(sender: "apns", app: "")])
        for store in [one, two] { await store.close() }
        try await database.remove()
    }

    @Test func `a connection that is lost is made again, and webhooks are refused meanwhile`()
        async throws
    {
        let database = try await PostgresServer.shared().database()
        let began = AsyncStream.makeStream(of: Void.self)
        var options = try options(database)
        options.onNotice = { notice in
            if case .began(.away, _) = notice { began.continuation.yield() }
        }
        let store = try await open(options)
        guard case .committed = await append(store, 1) else {
            Issue.record("the entry was refused")
            return
        }
        try await database.refuse(true)
        guard case .failed = await append(store, 2) else {
            Issue.record("the entry was taken")
            return
        }
        for await _ in began.stream { break }
        #expect(store.isFailing)
        try await database.refuse(false)
        try await until { store.stop == nil }
        guard case .committed = await append(store, 3) else {
            Issue.record("the entry was refused")
            return
        }
        await store.close()
        try await database.remove()
    }

    /// The commit waits for a lock that the test holds on the mark, as if its answer were lost.
    @Test(arguments: [true, false])
    func `a commit whose answer is lost is what the mark says`(wasCommitted: Bool) async throws {
        let database = try await PostgresServer.shared().database()
        let store = try await open(options(database))
        let clock = DatabaseClock(offsetMs: { 0 })
        let session = Session(
            try PostgresAddress(database.address), usesNames: true, store.life, channel: 9, clock)
        if wasCommitted {
            try await database.run(
                """
                INSERT INTO signalbox.mark (life, channel, n) VALUES (\(store.life.number), 9, 7)
                """)
        }
        let lost = PostgresFault(kind: .lost, message: "lost")
        // The same if the answer to this question was lost, too.
        for _ in 0..<2 { #expect(try session.wasCommitted(7, lost) == wasCommitted) }
        // The query has decided it: the transaction can no longer commit.
        let marks = try await database.run(
            "SELECT count(DISTINCT n) FROM signalbox.mark WHERE n = 7 AND channel = 9")
        #expect(marks.hasPrefix("1"))
        await store.close()
        try await database.remove()
    }

    @Test func `the sweep forgets what has had its time`() async throws {
        let database = try await PostgresServer.shared().database()
        let store = try await open(options(database))
        guard case .committed = await append(store, 1, key: "k") else {
            Issue.record("the entry was refused")
            return
        }
        let clock = DatabaseClock(offsetMs: { 0 })
        let session = Session(
            try PostgresAddress(database.address), usesNames: true, store.life, channel: 9, clock)
        let (rotation, receivers) = (
            TableRotation(bytesMax: -1), ReceiverSweep(store.shared) { _ in }
        )
        let history = HistoryRotation(store.shared)
        for _ in 0..<2 {
            // Each transaction hears the time.
            clock.hear(Int64.max / 2)
            let fault = Sweep.run(
                session, life: store.life, clock, rotation, history, receivers, { _ in })
            #expect(fault == nil)
        }
        let left = try await database.run("SELECT count(*) FROM signalbox.seen")
        #expect(left.hasPrefix("0"))
        await store.close()
        try await database.remove()
    }
}
