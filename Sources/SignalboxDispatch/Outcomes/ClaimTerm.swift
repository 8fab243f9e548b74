internal import SignalboxCore

/// Until when this gateway holds the claim to send a receiver's outcomes, by its steady clock.
package struct ClaimTerm: Sendable {
    /// How long a claim lasts, and so how soon another gateway takes over from one that died.
    package static let lastsMs: UInt64 = 30_000
    /// The least time a claim must have left when a request begins: more than a request takes.
    private static let leftMs: UInt64 = 15_000
    /// How often a gateway without the claim tries to get it.
    static let lookMs: UInt64 = 2_000

    private var untilMs: UInt64 = 0
    /// Whether other gateways append to the stream, too.
    package private(set) var isShared = false
    /// Whether another gateway is known to send.
    package private(set) var isStandby = false

    /// Whether a request may begin.
    func isEnough(nowMs: UInt64) -> Bool { untilMs > nowMs + Self.leftMs }

    /// Takes the store's answer to a request made at `askedMs`; nil if another gateway sends.
    mutating func take(_ claim: OutcomeClaim?, askedMs: UInt64) {
        isStandby = claim == nil
        isShared = claim?.isShared ?? true
        switch claim?.isShared {
        case nil: untilMs = 0
        case true?: untilMs = askedMs + Self.lastsMs
        case false?: untilMs = .max
        }
    }

    /// Whether there is a claim that other gateways wait for.
    package var isWorthReleasing: Bool { isShared && untilMs > 0 }
}
