import Foundation
import GRDB
import PluginRig
import SignalboxCore
import Synchronization
import Testing

@testable import SignalboxStore

@Suite struct StoreTests {
    /// The faults that the store reported.
    final class Faults: Sendable {
        private let all = Mutex<[String]>([])

        var value: [String] { all.withLock { $0 } }

        func add(_ words: String) { all.withLock { $0.append(words) } }
    }

    /// The result of an append.
    enum Answer: Equatable {
        case committed(duplicates: Set<Int>, badges: [Int: [Int32?]] = [:])
        case refused(StoreAnswer)
    }

    final class Time: Sendable {
        private let unixMs = Mutex<UInt64>(1_000)

        var value: UInt64 { unixMs.withLock { $0 } }

        func set(_ new: UInt64) { unixMs.withLock { $0 = new } }
    }

    /// A store in its own folder, with calls that can be awaited.
    final class Rig: Sendable {
        let folder: String
        let store: SQLiteStore
        let faults = Faults()
        /// The store's clock.
        let time = Time()
        /// The token of the last lease.
        let token = Mutex(LeaseToken(owner: "", epoch: 0))

        init(
            folder: String? = nil, waitingMax: Int = 1_000_000,
            freeBytes: @escaping @Sendable (String) -> UInt64 = StoreFiles.freeBytes
        ) throws {
            let made = Workshop.place()
            self.folder = folder ?? made.path
            let (faults, time) = (faults, time)
            var options = SQLiteStore.Options(
                folder: self.folder, nowUnixMs: { time.value }, onNotice: { faults.add($0.text) })
            options.waitingMax = waitingMax
            options.freeBytes = freeBytes
            store = try SQLiteStore.open(options)
        }

        /// A second connection to its file.
        func connection() throws -> DatabaseQueue {
            try DatabaseQueue(
                path: URL(filePath: folder).appending(path: "signalbox.sqlite").path)
        }

        /// The number of rows in a table of the file.
        func count(_ table: String) throws -> Int {
            let queue = try connection()
            defer { try? queue.close() }
            return try queue.read { db in
                try Int.fetchOne(db, sql: "SELECT count(*) FROM \(table)") ?? 0
            }
        }

        func append(_ items: [StoreEntry.Item], dedupeMs: UInt64 = 0, nowUnixMs: UInt64 = 1_000)
            async
            -> Answer
        {
            time.set(nowUnixMs)
            let answer = await withCheckedContinuation { continuation in
                store.append(
                    StoreEntry(items: items, receivedUnixMs: nowUnixMs, dedupeMs: dedupeMs)
                ) { continuation.resume(returning: $0) }
            }
            guard case .committed(let commit) = answer else { return .refused(answer) }
            token.withLock { $0 = commit.token }
            return .committed(duplicates: commit.duplicates, badges: commit.badges)
        }

        /// The milliseconds until a time.
        func until(_ unixMs: UInt64) -> UInt64 { unixMs - min(unixMs, time.value) }

        func lease(
            _ key: LaneKey = LaneKey(sender: "apns", app: ""), max: Int = 100,
            nowUnixMs: UInt64 = 2_000, isProbe: Bool = false
        ) async -> (deliveries: [Delivery], hasMore: Bool, nextDueInMs: UInt64?) {
            time.set(nowUnixMs)
            let wish = LeaseWish(max: max, forMs: 1_000, isProbe: isProbe)
            let result = await withCheckedContinuation { continuation in
                store.lease(key, wish) { continuation.resume(returning: $0) }
            }
            guard case .success(let lease) = result else { return ([], false, nil) }
            token.withLock { $0 = lease.token }
            return (lease.deliveries, lease.hasMore, lease.nextDueInMs)
        }

        func waitingLanes(dueForMs: UInt64? = nil) async -> [LaneKey] {
            await withCheckedContinuation { continuation in
                store.waitingLanes(dueForMs: dueForMs) {
                    continuation.resume(returning: (try? $0.get()) ?? [])
                }
            }
        }

        @discardableResult
        func settle(_ ends: [LeaseEnd]) async -> LeaseRefusal? {
            await settle(ends, OutcomePack())
        }

        func settle(_ ends: [LeaseEnd], _ outcomes: OutcomePack) async -> LeaseRefusal? {
            let token = await currentToken()
            return await withCheckedContinuation { continuation in
                store.settle(ends, under: token, outcomes: outcomes) {
                    continuation.resume(returning: try? $0.get())
                }
            }
        }

        /// The token of the last lease, or of an empty one.
        func currentToken() async -> LeaseToken {
            let known = token.withLock { $0 }
            guard known.owner.isEmpty else { return known }
            _ = await lease(LaneKey(sender: "nobody", app: ""), nowUnixMs: time.value)
            return token.withLock { $0 }
        }

        func ids(_ count: Int) async -> Range<UInt64> {
            await withCheckedContinuation { continuation in
                store.reserveIDs(count) {
                    continuation.resume(returning: (try? $0.get()) ?? 0..<0)
                }
            }
        }
    }

    static func delivery(
        _ id: UInt64, sender: String = "apns", priority: Priority = .normal,
        content: SharedNotification? = nil
    ) -> Delivery {
        var note = PushNotification()
        note.priority = priority
        note.title = "T\(id)"
        return Delivery(
            id: id, eventID: 900, route: "r", sender: sender, stableID: "uuid-\(id)",
            deadlineUnixMs: 0, content: content ?? SharedNotification(note, receivedUnixMs: 0),
            device: Device(platform: "ios", token: "t\(id)", sourceToken: "<t\(id)>"))
    }

    static func item(
        _ deliveries: [Delivery], taken: Set<UInt64> = [], key: String = ""
    ) -> StoreEntry.Item {
        StoreEntry.Item(
            event: Event(id: 900, source: "z", type: "ticket.replied", dedupe: key),
            deliveries: deliveries, taken: taken)
    }

    static func attempt(_ number: UInt32 = 1) -> Attempt {
        Attempt(number: number, unixMs: 5_000, reason: "unreachable", code: 0, detail: "")
    }

    @Test func `a second gateway is kept out`() async throws {
        let rig = try Rig()
        let fault = #expect(throws: StoreError.self) { try Rig(folder: rig.folder) }
        #expect(fault?.code == "store-in-use")
        await rig.store.close()
        let next = try Rig(folder: rig.folder)
        await next.store.close()
    }

    @Test func `a damaged file is refused with what to do`() async throws {
        let rig = try Rig()
        await rig.store.close()
        let file = URL(filePath: rig.folder).appending(path: "signalbox.sqlite")
        try Data(repeating: 0x5A, count: 8192).write(to: file)
        let fault = #expect(throws: StoreError.self) { try Rig(folder: rig.folder) }
        #expect(fault?.code == "store-damaged")
        #expect(fault?.message.contains("Move it away") == true)
    }

    @Test func `a file that cannot be opened on a full disk says so, whatever SQLite calls it`() {
        let error = DatabaseError(resultCode: .SQLITE_IOERR_SHMSIZE)
        #expect(StoreFiles.fault(error, path: "/x", freeBytes: { _ in 4_096 }).code == "store-full")
        #expect(
            StoreFiles.fault(error, path: "/x", freeBytes: { _ in 1 << 30 }).code == "store-failed")
    }

    @Test func `the repair in the documents makes a file that opens, with what it held`()
        async throws
    {
        let rig = try Rig()
        _ = await rig.append([Self.item([1, 2, 3].map { Self.delivery($0) })])
        await rig.store.close()
        let manager = FileManager.default
        let place = manager.temporaryDirectory.appending(path: UUID().uuidString)
        defer { try? manager.removeItem(at: place) }
        try manager.createDirectory(
            at: place.appending(path: "NEW"), withIntermediateDirectories: true)
        try manager.copyItem(
            at: URL(filePath: rig.folder), to: place.appending(path: "OLD"))
        let shell = Process()
        shell.executableURL = URL(filePath: "/bin/sh")
        shell.arguments = ["-euc", try Self.repair()]
        shell.currentDirectoryURL = place
        try shell.run()
        shell.waitUntilExit()
        #expect(shell.terminationStatus == 0)
        let repaired = try Rig(folder: place.appending(path: "NEW").path)
        #expect(repaired.store.waitingCount == 3)
        await repaired.store.close()
    }

    /// The commands of docs/operations.md.
    private static func repair() throws -> String {
        let root = URL(filePath: #filePath).deletingLastPathComponent()
            .deletingLastPathComponent().deletingLastPathComponent()
        let document = try String(
            contentsOf: root.appending(path: "docs/operations.md"), encoding: .utf8)
        let part = try #require(document.split(separator: "## Repair a damaged database").last)
        let block = try #require(part.split(separator: "```sh").dropFirst().first)
        return String(try #require(block.split(separator: "```").first))
    }

    @Test(arguments: [0, 2])
    func `a file with another schema number is refused`(number: Int) async throws {
        let rig = try Rig()
        await rig.store.close()
        let queue = try rig.connection()
        try await queue.write { db in try db.execute(sql: "PRAGMA user_version = \(number)") }
        try queue.close()
        let fault = #expect(throws: StoreError.self) { try Rig(folder: rig.folder) }
        #expect(fault?.code == "store-newer")
        let file = "\(rig.folder)/signalbox.sqlite"
        let words =
            number == 0
            ? "\(file) has tables and no schema number: it was repaired or copied by other means"
            : "\(file) has the schema number \(number), and this signalbox uses 1"
        #expect(fault?.message.hasPrefix(words) == true)
        #expect(SQLiteContents.startFault(folder: rig.folder)?.message == fault?.message)
        #expect(try SQLiteContents.status(folder: rig.folder).schema == .unknown(number, known: 1))
        #expect(throws: StoreError.self) { try SQLiteContents.migrate(folder: rig.folder) }
    }

    @Test func `a folder that cannot be made is named`() {
        let fault = #expect(throws: StoreError.self) { try Rig(folder: "/proc/nowhere/x") }
        #expect(fault?.code == "store-not-writable")
    }
}

extension StoreTests {
    @Test func `a lease sees the retries that were asked for before it, in one commit`()
        async throws
    {
        let rig = try Rig()
        for round in UInt64(1)...50 {
            _ = await rig.append([Self.item([Self.delivery(round)], taken: [round])])
            // All of these reach the writer before it has finished the first.
            async let first = rig.settle([.released(0)])
            rig.store.settle(
                [.retry(round, afterMs: 0, Self.attempt(), isFree: false)],
                under: rig.token.withLock { $0 }, outcomes: OutcomePack()
            ) { _ in }
            let lease = await rig.lease(nowUnixMs: 2_000)
            _ = await first
            #expect(lease.deliveries.map(\.id) == [round])
            await rig.settle([.delivered(round)])
        }
        await rig.store.close()
    }
}
