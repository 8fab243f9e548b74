import Foundation
import GRDB
import PluginBench
import SignalboxCore
import SignalboxStore
import StoreConformance
import Synchronization
import Testing

/// Both engines keep every rule of the suite that is published for authors of others.
@Suite struct ConformanceTests {
    @Test(arguments: StoreConformance.rules)
    func `SQLite keeps the rule`(rule: StoreRule) async throws {
        try await StoreConformance.check(rule, of: SQLiteEngine())
    }

    @Test(arguments: StoreConformance.rules)
    func `memory keeps the rule`(rule: StoreRule) async throws {
        try await StoreConformance.check(rule, of: MemoryEngine())
    }

    @Test func `a rule that is broken is named, with what was seen`() async throws {
        let rule = try #require(
            StoreConformance.rules.first { $0.description.hasPrefix("a lease that is extended") })
        let finding = await #expect(throws: StoreFinding.self) {
            try await StoreConformance.check(rule, of: MemoryEngine(speed: 1_000))
        }
        #expect(finding?.description.hasPrefix(rule.description) == true)
    }
}

/// The clock of an engine under examination.
final class EngineTime: Sendable {
    private let ms = Mutex<UInt64>(1_000_000)
    var now: UInt64 { ms.withLock { $0 } }
    func advance(ms delta: UInt64) { ms.withLock { $0 += delta } }
}

final class MemoryEngine: StoreEngine {
    let traits: Set<StoreTrait> = [.shared, .failing]
    private let time = EngineTime()
    private let storage = Mutex<MemoryStorage?>(nil)
    private let speed: UInt64

    /// `speed`: how much faster the clock goes than it says.
    init(speed: UInt64 = 1) { self.speed = speed }

    func open(owner: String, _ setup: StoreSetup) async throws -> any GatewayStore {
        storage.withLock { storage in
            let time = time
            var options = MemoryStorage.Options(nowUnixMs: { time.now })
            options.waitingMax = setup.waitingMax
            options.leaseMs = setup.leaseMs
            let known = storage ?? MemoryStorage(options)
            storage = known
            return known.open(owner: owner)
        }
    }

    func crash(_ store: any GatewayStore) async throws {}
    func advance(ms: UInt64) async { time.advance(ms: ms * speed) }
    func fail(_ isFailing: Bool) async {
        storage.withLock { $0?.fail(isFailing ? "the engine was told to fail" : nil) }
    }
    func end() async {}
}

final class SQLiteEngine: StoreEngine {
    let traits: Set<StoreTrait> = [.durable]
    private let time = EngineTime()
    private let folder = Mutex(Workshop.place())
    /// Stores opened before a simulated crash still have their files open.
    private let crashed = Mutex<[any GatewayStore]>([])

    func open(owner: String, _ setup: StoreSetup) async throws -> any GatewayStore {
        let time = time
        var options = SQLiteStore.Options(
            folder: folder.withLock(\.path), nowUnixMs: { time.now }, onNotice: { _ in })
        options.waitingMax = setup.waitingMax
        options.leaseMs = setup.leaseMs
        return try SQLiteStore.open(options)
    }

    /// The files as they are, while the first process still has them open.
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

    func advance(ms: UInt64) async { time.advance(ms: ms) }
    func fail(_ isFailing: Bool) async {}
    func end() async { for store in crashed.withLock({ $0 }) { await store.close() } }
}
