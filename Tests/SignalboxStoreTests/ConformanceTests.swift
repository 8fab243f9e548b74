import Foundation
import GRDB
import PluginRig
import SignalboxCore
import SignalboxStore
import StoreConformance
import Synchronization
import Testing

/// Both engines keep every rule of the suite that is published for engine authors.
@Suite struct ConformanceTests {
    @Test(arguments: StoreConformance.rules)
    func `SQLite keeps the rule`(rule: StoreRule) async throws {
        try await examine(rule, SQLiteEngine())
    }

    @Test(arguments: StoreConformance.rules)
    func `memory keeps the rule`(rule: StoreRule) async throws {
        try await examine(rule, MemoryEngine())
    }

    private func examine(_ rule: StoreRule, _ engine: any StoreEngine) async throws {
        let verdict = try await StoreConformance.check(rule, of: engine)
        if case .notExamined(let why) = verdict { try Test.cancel("\(why)") }
    }

    @Test(arguments: StoreTrait.allCases)
    func `a rule about what an engine lacks does not count as kept`(trait: StoreTrait) async throws
    {
        struct Lacking: StoreEngine {
            let lacks: [StoreTrait: String]
            func open(owner: String, _ setup: StoreSetup) throws -> any GatewayStore {
                throw StoreFailure(message: "opened for a rule that it is not examined for")
            }
            func crash(_ store: any GatewayStore) {}
            func advance(ms: UInt64) {}
            func fail(_ isFailing: Bool) {}
            func end() {}
        }
        let rules = StoreConformance.rules.filter { $0.trait == trait }
        #expect(!rules.isEmpty)
        for rule in rules {
            let verdict = try await StoreConformance.check(rule, of: Lacking(lacks: [trait: "no"]))
            #expect(verdict == .notExamined("no"))
        }
    }

    @Test func `a rule that is broken is named, with what was seen`() async throws {
        let rule = try #require(
            StoreConformance.rules.first { $0.description.hasPrefix("a lease that is extended") })
        let finding = await #expect(throws: StoreFinding.self) {
            _ = try await StoreConformance.check(rule, of: MemoryEngine(speed: 1_000))
        }
        #expect(finding?.description.hasPrefix(rule.description) == true)
    }
}

/// The clock of an examined engine.
final class EngineTime: Sendable {
    private let ms = Mutex<UInt64>(1_000_000)
    var now: UInt64 { ms.withLock { $0 } }
    func advance(ms delta: UInt64) { ms.withLock { $0 += delta } }
}

final class MemoryEngine: StoreEngine {
    let lacks: [StoreTrait: String] = [.durable: "what is in memory ends with the process"]
    private let time = EngineTime()
    private let storage = Mutex<MemoryStorage?>(nil)
    private let speed: UInt64

    /// `speed`: how much faster than stated the clock runs.
    init(speed: UInt64 = 1) { self.speed = speed }

    func open(owner: String, _ setup: StoreSetup) async throws -> any GatewayStore {
        made(setup).open(owner: owner)
    }

    private func made(_ setup: StoreSetup) -> MemoryStorage {
        storage.withLock { storage in
            let time = time
            var options = MemoryStorage.Options(nowUnixMs: { time.now })
            options.waitingMax = setup.waitingMax
            options.leaseMs = setup.leaseMs
            let known = storage ?? MemoryStorage(options)
            storage = known
            return known
        }
    }

    func crash(_ store: any GatewayStore) async throws {}
    func contents(_ role: CopyRole) async throws -> any StoreContents {
        MemoryContents(made(StoreSetup()))
    }
    func advance(ms: UInt64) async { time.advance(ms: ms * speed) }
    func fail(_ isFailing: Bool) async {
        storage.withLock { $0?.fail(isFailing ? "the engine was told to fail" : nil) }
    }
    func end() async {}
}

final class SQLiteEngine: StoreEngine {
    let lacks: [StoreTrait: String] = [
        .shared: "one process owns the data folder, by a lock on a file in it",
        .failing: "this engine of the test has no way to make every call fail",
    ]
    private let time = EngineTime()
    private let folder = Mutex(Workshop.place())
    /// Stores from before a simulated crash, whose files are still open.
    private let crashed = Mutex<[any GatewayStore]>([])

    func open(owner: String, _ setup: StoreSetup) async throws -> any GatewayStore {
        let time = time
        var options = SQLiteStore.Options(
            folder: folder.withLock(\.path), nowUnixMs: { time.now }, onNotice: { _ in })
        options.waitingMax = setup.waitingMax
        options.leaseMs = setup.leaseMs
        return try SQLiteStore.open(options)
    }

    /// Copies the files while the first process still has them open.
    func crash(_ store: any GatewayStore) async throws {
        let copy = Workshop.place()
        let old = folder.withLock { $0 }
        try FileManager.default.createDirectory(at: copy, withIntermediateDirectories: true)
        for name in ["signalbox.sqlite", "signalbox.sqlite-wal"] {
            try FileManager.default.copyItem(
                at: old.appending(path: name), to: copy.appending(path: name))
        }
        folder.withLock { $0 = copy }
        crashed.withLock { $0.append(store) }
    }

    func contents(_ role: CopyRole) async throws -> any StoreContents {
        try SQLiteContents(folder: folder.withLock(\.path), role)
    }

    func advance(ms: UInt64) async { time.advance(ms: ms) }
    func fail(_ isFailing: Bool) async {}
    func end() async { for store in crashed.withLock({ $0 }) { await store.close() } }
}
