public import SignalboxCore

/// What an engine promises beyond what every engine must.
public enum StoreTrait: String, Sendable, CaseIterable {
    /// What it has committed outlives its process.
    case durable
    /// Several owners use it at once.
    case shared
    /// A test can make it fail.
    case failing
}

/// What every store of an examination is opened with.
public struct StoreSetup: Sendable {
    /// Most deliveries that wait.
    public var waitingMax = 1_000_000
    /// How long a lease of a delivery that is taken over at once lasts, in milliseconds.
    public var leaseMs: UInt64 = 60_000

    /// The usual setup.
    public init() {}
}

/// An engine with a storage of its own, as an examination sees it; its author writes this.
public protocol StoreEngine: Sendable {
    /// What it does not promise, and why: rules about it are not examined, and the result says so.
    var lacks: [StoreTrait: String] { get }

    /// Opens the storage for an owner, as a starting gateway does. Without `shared` there is one owner, and the
    /// name may be ignored.
    func open(owner: String, _ setup: StoreSetup) async throws -> any GatewayStore

    /// Ends a store as `kill -9` does: nothing of what it knows alone is written. Without `durable` it is closed.
    func crash(_ store: any GatewayStore) async throws

    /// Lets the store's clock go on; an engine whose clock cannot be moved waits.
    func advance(ms: UInt64) async

    /// Makes every call fail, or none; never called without `failing`.
    func fail(_ isFailing: Bool) async

    /// The examination is over.
    func end() async
}

/// A rule that every engine keeps, or every one with a trait.
public struct StoreRule: Sendable, CustomStringConvertible {
    /// What holds, as a sentence.
    public let description: String
    /// Not examined with an engine that lacks this.
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

/// What came of a rule that no engine broke.
public enum StoreVerdict: Sendable, Equatable {
    /// The engine keeps it.
    case kept
    /// The engine lacks what the rule is about, for this reason.
    case notExamined(String)
}

/// A rule that an engine breaks.
public struct StoreFinding: Error, Sendable, CustomStringConvertible {
    /// The rule.
    public let rule: String
    /// What was seen, and in which line of the suite.
    public let detail: String

    /// The rule, and what was seen.
    public var description: String { "\(rule): \(detail)" }
}

/// The conformance suite: what a store must do so that a gateway loses nothing and sends nothing twice.
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
/// A rule that was not examined is not kept: let it show as skipped.
public enum StoreConformance {
    /// All rules.
    public static let rules: [StoreRule] =
        queueRules + retryRules + leaseRules + sharedRules + deadRules + registryRules + outboxRules
        + streamRules + failureRules + modelRules

    /// Examines one rule with an engine whose storage is new; throws a `StoreFinding` if it is broken.
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
