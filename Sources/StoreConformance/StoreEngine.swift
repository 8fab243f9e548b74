public import SignalboxCore

/// What an engine may promise in addition to the rules for every engine.
public enum StoreTrait: String, Sendable, CaseIterable {
    /// Committed data outlives the process.
    case durable
    /// Several owners can use it at once.
    case shared
    /// A test can make it fail.
    case failing
    /// It can be copied to another store, and back.
    case portable
}

/// The options with which an examination opens stores.
public struct StoreSetup: Sendable {
    /// Limit of waiting deliveries.
    public var waitingMax = 1_000_000
    /// Lease of a delivery that is taken over at once, in milliseconds.
    public var leaseMs: UInt64 = 60_000

    /// The default setup.
    public init() {}
}

/// An engine with its own storage, as an examination uses it; the engine's author writes this.
public protocol StoreEngine: Sendable {
    /// The traits that the engine lacks, each with the reason.
    ///
    /// Their rules are not examined, and the result says so.
    var lacks: [StoreTrait: String] { get }

    /// Opens the storage for an owner, as a starting gateway does.
    ///
    /// Without `shared` there is one owner, and the name may be ignored.
    func open(owner: String, _ setup: StoreSetup) async throws -> any GatewayStore

    /// Ends a store as `kill -9` does: nothing is written that it holds only in memory.
    ///
    /// Without `durable` the store is closed.
    func crash(_ store: any GatewayStore) async throws

    /// Moves the store's clock forward; an engine whose clock cannot be moved waits.
    func advance(ms: UInt64) async

    /// Makes every call fail, or ends that; never called without `failing`.
    func fail(_ isFailing: Bool) async

    /// The contents of the storage, which no store uses; never called without `portable`.
    func contents(_ role: CopyRole) async throws -> any StoreContents

    /// Ends the examination.
    func end() async
}

extension StoreEngine {
    /// For engines without `portable`.
    public func contents(_ role: CopyRole) async throws -> any StoreContents {
        throw StoreFailure(message: "the engine offers no contents")
    }
}

/// A rule for every engine, or for every engine with a trait.
public struct StoreRule: Sendable, CustomStringConvertible {
    /// The rule as a sentence.
    public let description: String
    /// The rule is not examined with an engine that lacks this trait.
    public let trait: StoreTrait?
    let body: @Sendable (StoreProbe) async throws -> Void

    init(
        _ description: String, only trait: StoreTrait? = nil,
        _ body: @escaping @Sendable (StoreProbe) async throws -> Void
    ) {
        self.description = description
        self.trait = trait
        self.body = body
    }
}

/// The result of a rule that the engine did not break.
public enum StoreVerdict: Sendable, Equatable {
    /// The engine keeps it.
    case kept
    /// The engine lacks the rule's trait, for this reason.
    case notExamined(String)
}

/// A rule that the engine breaks.
public struct StoreFinding: Error, Sendable, CustomStringConvertible {
    /// The rule.
    public let rule: String
    /// What happened, and in which line of the suite.
    public let detail: String

    /// The rule, and what happened.
    public var description: String { "\(rule): \(detail)" }
}

/// The conformance suite for stores: a gateway must lose nothing and send nothing twice.
///
/// Run each rule as a test of its own:
///
/// ```swift
/// @Test(arguments: StoreConformance.rules)
/// func `keeps the rule`(rule: StoreRule) async throws {
///     let verdict = try await StoreConformance.check(rule, of: MyEngine())
///     if case .notExamined(let why) = verdict { try Test.cancel("\(why)") }
/// }
/// ```
///
/// A rule that was not examined is not kept: report it as skipped.
public enum StoreConformance {
    /// All rules.
    public static let rules: [StoreRule] =
        queueRules + retryRules + staleRules + leaseRules + sharedRules + deadRules + registryRules
        + outboxRules
        + streamRules + historyRules + peopleRules + valueRules + copyRules + failureRules
        + modelRules

    /// Examines one rule with an engine whose storage is empty.
    ///
    /// Throws a `StoreFinding` if the rule is broken.
    public static func check(
        _ rule: StoreRule, of engine: any StoreEngine
    ) async throws -> StoreVerdict {
        if let trait = rule.trait, let why = engine.lacks[trait] {
            await engine.end()
            return .notExamined(why)
        }
        let probe = StoreProbe(rule: rule.description, engine: engine)
        do {
            try await rule.body(probe)
        } catch {
            await engine.end()
            throw (error as? StoreFinding)
                ?? StoreFinding(rule: rule.description, detail: "\(error)")
        }
        await engine.end()
        return .kept
    }
}

extension StoreEngine {
    func has(_ trait: StoreTrait) -> Bool { lacks[trait] == nil }
}
