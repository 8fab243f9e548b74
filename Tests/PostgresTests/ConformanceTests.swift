import PluginRig
import SignalboxCore
import SignalboxPostgres
import StoreConformance
import Synchronization
import Testing

/// PostgreSQL keeps every rule of the suite, with several owners and with failures.
@Suite struct PostgresConformanceTests {
    @Test(arguments: StoreConformance.rules)
    func `PostgreSQL keeps the rule`(rule: StoreRule) async throws {
        let engine = PostgresEngine(try await PostgresServer.shared().database())
        let verdict = try await StoreConformance.check(rule, of: engine)
        #expect(verdict == .kept)
    }
}

/// A database of its own, with the clock of the database set forward.
final class PostgresEngine: StoreEngine {
    let lacks: [StoreTrait: String] = [:]
    private let database: PostgresDatabase
    private let offsetMs = Atomic<UInt64>(0)
    private let stores = Mutex<[PostgresStore]>([])

    private let address: String
    private let usesNames: Bool

    init(_ database: PostgresDatabase, address: String? = nil, usesNames: Bool = true) {
        self.database = database
        self.address = address ?? database.address
        self.usesNames = usesNames
    }

    func open(owner: String, _ setup: StoreSetup) async throws -> any GatewayStore {
        var options = PostgresOptions(
            address: try PostgresAddress(address), owner: owner, onNotice: { _ in })
        options.waitingMax = setup.waitingMax
        options.leaseMs = setup.leaseMs
        options.usesNames = usesNames
        options.hasNotices = usesNames
        options.patienceMs = 60_000
        options.offsetMs = { self.offsetMs.load(ordering: .relaxed) }
        let made = options
        let store = try await Tool.aside { try PostgresStore.open(made) }
        stores.withLock { $0.append(store) }
        return store
    }

    /// It is fenced by its next life, and writes nothing of its own.
    func crash(_ store: any GatewayStore) async throws {}

    func contents(_ role: CopyRole) async throws -> any StoreContents {
        let address = try PostgresAddress(database.address)
        return try PostgresContents(address, role, silenceMs: 0)
    }

    func advance(ms: UInt64) async { offsetMs.wrappingAdd(ms, ordering: .relaxed) }

    func fail(_ isFailing: Bool) async {
        do {
            try await database.refuse(isFailing)
        } catch {
            Issue.record(error)
        }
        guard !isFailing else { return }
        for store in stores.withLock({ $0 }) {
            while store.isFailing { await Task.yield() }
        }
    }

    func end() async {
        for store in stores.withLock({ $0 }) { await store.close() }
        do {
            try await database.remove()
        } catch {
            Issue.record(error)
        }
    }
}
