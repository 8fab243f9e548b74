internal import Synchronization

/// Bounds the connects of all pools to one host while connects fail. A value without clock.
///
/// A host that works is not bounded: after a start, a thousand lanes connect at once. Each failed
/// connect, or connection that never carried a successful request, costs a token; ten come back per
/// second. For a while after a failure no more connects are under way at once than there are tokens.
/// So failures are bounded to 20 at once and 10 per second, and connects that succeed are not: a host
/// that comes back has all its lanes again within seconds.
struct ConnectBudget {
    static let tokensMax = 20.0
    static let tokensPerSecond = 10.0
    /// So long after its last failure a host counts as failing.
    static let failingNs: UInt64 = 30_000_000_000

    private var tokens = tokensMax
    private var refilledNs: UInt64 = 0
    private var failedNs: UInt64?
    /// Connects under way.
    private var connecting = 0

    /// Whether a connect may begin.
    mutating func begin(nowNs: UInt64) -> Bool {
        refill(nowNs)
        if let failedNs, nowNs - min(nowNs, failedNs) < Self.failingNs {
            guard Double(connecting + 1) <= tokens else { return false }
        }
        connecting += 1
        return true
    }

    /// A connect that began has succeeded.
    mutating func connected() { connecting -= 1 }

    /// A connect failed; `wasConnected`: it had succeeded, and the connection was of no use.
    mutating func failed(wasConnected: Bool, nowNs: UInt64) {
        refill(nowNs)
        if !wasConnected { connecting -= 1 }
        tokens = max(0, tokens - 1)
        failedNs = nowNs
    }

    private mutating func refill(_ nowNs: UInt64) {
        let passed = Double(nowNs - min(nowNs, refilledNs)) / 1_000_000_000
        tokens = min(Self.tokensMax, tokens + passed * Self.tokensPerSecond)
        refilledNs = max(refilledNs, nowNs)
    }
}

/// The budget of one host, which the pools of all event loops share. Only connects take its lock.
final class HostGate: Sendable {
    private let budget = Mutex(ConnectBudget())

    func begin(nowNs: UInt64) -> Bool { budget.withLock { $0.begin(nowNs: nowNs) } }
    func connected() { budget.withLock { $0.connected() } }
    func failed(wasConnected: Bool, nowNs: UInt64) {
        budget.withLock { $0.failed(wasConnected: wasConnected, nowNs: nowNs) }
    }
}
