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

    @Test func `what was committed can be leased, whole, once`() async throws {
        let rig = try Rig()
        var note = PushNotification()
        note.title = "Title"
        note.badge = 3
        note.priority = .high
        note.isDataOnly = true
        note.isWithdrawn = true
        note.data = #"{"a":1}"#
        note.overrides = [PayloadOverride(family: "apns", json: #"{"x":[]}"#)]
        var delivery = Self.delivery(7, content: SharedNotification(note, receivedUnixMs: 0))
        delivery.badge = 9
        delivery.deadlineUnixMs = 99_000
        delivery.device = Device(
            app: "", platform: "ios", provider: "apns", token: "tok\"en", sourceToken: "<tok>",
            user: "u", locale: "de", registeredUnixMs: 5)
        #expect(await rig.append([Self.item([delivery])]) == .committed(duplicates: []))
        #expect(rig.store.waitingCount == 1)
        let leased = try #require(await rig.lease().deliveries.first)
        #expect(leased.id == 7 && leased.eventID == 900 && leased.route == "r")
        #expect(leased.stableID == "uuid-7" && leased.attempt == 1 && leased.badge == 9)
        #expect(leased.deadlineUnixMs == 99_000)
        #expect(leased.device == delivery.device)
        #expect(leased.content.notification == note)
        #expect(await rig.lease().deliveries.isEmpty)
        await rig.settle([.delivered(7), .delivered(7)])
        #expect(rig.store.waitingCount == 0)
        await rig.store.close()
    }

    @Test func `a new process goes on where the old one stopped`() async throws {
        let rig = try Rig()
        _ = await rig.append([
            Self.item([Self.delivery(1), Self.delivery(2), Self.delivery(3)], taken: [1, 2])
        ])
        await rig.settle([.delivered(2)])
        await rig.store.close()
        let next = try Rig(folder: rig.folder)
        #expect(next.store.waitingCount == 2)
        #expect(await next.waitingLanes() == [LaneKey(sender: "apns", app: "")])
        // The old process's lease ended with the process.
        #expect(await next.lease().deliveries.map(\.id) == [1, 3])
        await next.store.close()
    }

    @Test func `ids are not used again when all is delivered`() async throws {
        let rig = try Rig()
        let first = await rig.ids(5_000)
        let id = first.upperBound - 1
        _ = await rig.append([Self.item([Self.delivery(id)], taken: [id])])
        await rig.settle([.delivered(id)])
        #expect(rig.store.waitingCount == 0)
        await rig.store.close()
        let next = try Rig(folder: rig.folder)
        #expect(await next.ids(10).lowerBound > id)
        await next.store.close()
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

    @Test func `values of plugins outlive the process, each instance has its own, some expire`()
        async throws
    {
        func get(_ rig: Rig, _ instance: String, _ now: UInt64 = 1_000) async -> [UInt8]? {
            rig.time.set(now)
            return await withCheckedContinuation { continuation in
                rig.store.value(instance: instance, key: "k") {
                    continuation.resume(returning: (try? $0.get()) ?? nil)
                }
            }
        }
        func set(_ rig: Rig, _ value: [UInt8]?, expires: UInt64? = nil) async {
            await withCheckedContinuation { continuation in
                rig.store.set(
                    instance: "a", key: "k", value: value, forMs: expires.map(rig.until)
                ) {
                    _ in
                    continuation.resume()
                }
            }
        }
        let rig = try Rig()
        await set(rig, [1, 0, 255])
        await rig.store.close()
        let next = try Rig(folder: rig.folder)
        #expect(await get(next, "a") == [1, 0, 255])
        #expect(await get(next, "b") == nil)
        await set(next, [2], expires: 2_000)
        #expect(await get(next, "a", 1_999) == [2])
        #expect(await get(next, "a", 2_000) == nil)
        await set(next, nil)
        #expect(await get(next, "a") == nil)
        await next.store.close()
    }

    @Test func `a folder that cannot be made is named`() {
        let fault = #expect(throws: StoreError.self) { try Rig(folder: "/proc/nowhere/x") }
        #expect(fault?.code == "store-not-writable")
    }

    /// Compares the store with a model in memory: under random calls, nothing is lost or doubled.
    @Test(arguments: [UInt64(3), 11, 2_024])
    func `random use and restarts lose nothing`(seed: UInt64) async throws {
        var random = Random(state: seed)
        var rig = try Rig()
        var waiting: Set<UInt64> = []
        var next: UInt64 = 0
        var now: UInt64 = 10_000
        for _ in 0..<400 {
            now += random.next() % 700
            switch random.next() % 6 {
            case 0, 1:
                next += 3
                let made = (next - 2...next).map { Self.delivery($0) }
                _ = await rig.append([
                    Self.item(made, taken: random.next() % 2 == 0 ? [next] : [])
                ])
                waiting.formUnion(made.map(\.id))
            case 2, 3, 4:
                let lease = await rig.lease(max: Int(random.next() % 7) + 1, nowUnixMs: now)
                for delivery in lease.deliveries {
                    #expect(waiting.contains(delivery.id), "seed \(seed)")
                    switch random.next() % 4 {
                    case 0:
                        await rig.settle([
                            .retry(
                                delivery.id, afterMs: rig.until(now + random.next() % 900),
                                Self.attempt(delivery.attempt), isFree: random.next() % 2 == 0)
                        ])
                    case 1: await rig.settle([.released(delivery.id)])
                    case 2:
                        await rig.settle([
                            .dead(delivery.id, reason: "x", Self.attempt(delivery.attempt))
                        ])
                        waiting.remove(delivery.id)
                    default:
                        await rig.settle([.delivered(delivery.id)])
                        waiting.remove(delivery.id)
                    }
                }
            default:
                await rig.store.close()
                rig = try Rig(folder: rig.folder)
            }
            #expect(rig.store.waitingCount == waiting.count, "seed \(seed)")
        }
        let all = await rig.lease(max: 100_000, nowUnixMs: now + 1_000_000).deliveries
        #expect(Set(all.map(\.id)) == waiting, "seed \(seed)")
        await rig.store.close()
    }
}

struct Random {
    var state: UInt64

    mutating func next() -> UInt64 {
        state &+= 0x9e37_79b9_7f4a_7c15
        var z = state
        z = (z ^ (z >> 30)) &* 0xbf58_476d_1ce4_e5b9
        z = (z ^ (z >> 27)) &* 0x94d0_49bb_1331_11eb
        return z ^ (z >> 31)
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

extension StoreTests {
    @Test func `a late logout leaves the next user's phone alone`() async throws {
        let rig = try Rig()
        let store = rig.store
        let first = Device(app: "a", platform: "ios", token: "phone", user: "first")
        var second = first
        second.user = "second"
        _ = try await store.register(first, isUnique: true)
        rig.time.set(2_000)
        _ = try await store.register(second, isUnique: true)
        #expect(
            try await store.unregister(
                [Device(app: "a", token: "phone", user: "first")], reports: []) == 0)
        let muted = [Attribute("muted", "agent")]
        #expect(
            try await store.setAttributes(muted, of: first) == 0)
        var change = DeviceChange(kind: .unregistered, device: first)
        try await withCheckedThrowingContinuation { continuation in
            store.change([change], reports: []) { continuation.resume(with: $0) }
        }
        #expect(try await store.devices(app: "a", user: "second").map(\.device.user) == ["second"])
        #expect(
            try await store.setAttributes(muted, of: second) == 1)
        let kept = try await store.devices(app: "a", user: "second").first?.device
        #expect(kept?.attributes == muted && kept?.registeredUnixMs == 2_000)
        change.device = second
        #expect(
            try await store.unregister(
                [Device(app: "a", token: "phone", user: "second")], reports: []) == 1)
        await store.close()
    }
}
