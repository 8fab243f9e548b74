/// Keeps a lane from running against a provider that is down: after some failures in a row it opens,
/// waits, and lets one delivery try; that one closes it or has it wait longer.
///
/// A value: time comes from outside.
public struct Breaker: Sendable, Equatable {
    /// What the lane may do.
    public enum Permission: Sendable, Equatable {
        /// Send as it likes.
        case all
        /// Send one, and nothing more until its outcome is known.
        case probe
        /// Send nothing before this time, in Unix milliseconds.
        case none(untilUnixMs: UInt64)
    }

    /// Failures in a row that open it.
    public static let failuresMax = 20
    private static let waitFirstMs: UInt64 = 1_000
    private static let waitMaxMs: UInt64 = 30_000

    private var failures = 0
    private var openings = 0
    private var untilUnixMs: UInt64 = 0
    private var isProbing = false

    /// Makes a closed one.
    public init() {}

    /// It is not closed.
    public var isOpen: Bool { openings > 0 }

    /// What may be done now.
    public func permission(nowUnixMs: UInt64) -> Permission {
        guard isOpen else { return .all }
        if isProbing { return .none(untilUnixMs: .max) }
        return nowUnixMs >= untilUnixMs ? .probe : .none(untilUnixMs: untilUnixMs)
    }

    /// The delivery that may try is under way.
    public mutating func probe() { if isOpen { isProbing = true } }

    /// The probe came back without having been sent.
    public mutating func probeReturned() { isProbing = false }

    /// The provider answered in a way that says it is up.
    public mutating func succeed() { self = Breaker() }

    /// The provider was out of reach or said that it is down.
    public mutating func fail(nowUnixMs: UInt64) {
        if isOpen {
            // Requests of before the opening come back one by one; only the probe counts.
            guard isProbing else { return }
            open(nowUnixMs: nowUnixMs)
        } else {
            failures += 1
            if failures >= Self.failuresMax { open(nowUnixMs: nowUnixMs) }
        }
    }

    private mutating func open(nowUnixMs: UInt64) {
        let wait = min(Self.waitMaxMs, Self.waitFirstMs << UInt64(min(openings, 10)))
        openings += 1
        isProbing = false
        untilUnixMs = nowUnixMs + wait
    }

    /// Whether an outcome says that the provider is down; nil: it says nothing about that.
    public static func verdict(_ outcome: Outcome) -> Bool? {
        switch outcome.kind {
        case .delivered, .unregistered, .rejected, .throttled:
            return outcome.providerCode > 0 ? false : nil
        case .retry:
            if outcome.providerCode >= 500 { return true }
            let isTransport = TransportFault(rawValue: outcome.reason) != nil
            return isTransport && outcome.reason != TransportFault.stopping.rawValue ? true : nil
        case .auth, .config: return nil
        }
    }
}
