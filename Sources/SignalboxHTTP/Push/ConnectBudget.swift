internal import Synchronization

/// Limits the connects of all pools to one host while connects fail. A value without a clock.
///
/// A working host is not limited: after a start, a thousand lanes connect at once. Each failed
/// connect, connection that never carried a successful request, or connection that is left although it works,
/// costs a token; ten are added per second. For a while after a failure, pending connects are limited to the number of tokens.
/// So failures are limited to 20 at once and 10 per second, and successful connects are not: a host
/// that recovers has all its lanes again within seconds.
struct ConnectBudget {
    static let tokensMax = 20.0
    static let tokensPerSecond = 10.0
    /// A host counts as failing for this long after its last failure.
    static let failingNs: UInt64 = 30_000_000_000

    private var tokens = tokensMax
    private var refilledNs: UInt64 = 0
    private var failedNs: UInt64?
    /// Pending connects.
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

    /// Records that a pending connect succeeded.
    mutating func connected() { connecting -= 1 }

    /// Records a failure; with `wasConnected` the connect had succeeded, but the connection was useless.
    mutating func failed(wasConnected: Bool, nowNs: UInt64) {
        refill(nowNs)
        if !wasConnected { connecting -= 1 }
        tokens = max(0, tokens - 1)
        failedNs = nowNs
    }

    /// Whether a connection that works may be left for another one.
    mutating func leave(nowNs: UInt64) -> Bool {
        refill(nowNs)
        guard tokens >= 1 else { return false }
        tokens -= 1
        return true
    }

    private mutating func refill(_ nowNs: UInt64) {
        let passed = Double(nowNs - min(nowNs, refilledNs)) / 1_000_000_000
        tokens = min(Self.tokensMax, tokens + passed * Self.tokensPerSecond)
        refilledNs = max(refilledNs, nowNs)
    }
}

/// The connect budget of one host, shared by the pools of all event loops. Only connects take its lock.
final class HostGate: Sendable {
    private let budget = Mutex(ConnectBudget())

    func begin(nowNs: UInt64) -> Bool { budget.withLock { $0.begin(nowNs: nowNs) } }
    func leave(nowNs: UInt64) -> Bool { budget.withLock { $0.leave(nowNs: nowNs) } }
    func connected() { budget.withLock { $0.connected() } }
    func failed(wasConnected: Bool, nowNs: UInt64) {
        budget.withLock { $0.failed(wasConnected: wasConnected, nowNs: nowNs) }
    }
}

/// Gates by authority: all pools of a host share one.
final class HostGates: Sendable {
    private let gates = Mutex<[String: HostGate]>([:])

    func gate(_ endpoint: PushEndpoint) -> HostGate {
        gates.withLock { gates in
            let gate = gates[endpoint.authority] ?? HostGate()
            gates[endpoint.authority] = gate
            return gate
        }
    }
}
