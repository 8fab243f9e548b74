internal import SignalboxCore

/// Until when this gateway is the one that sends a receiver's outcomes, by its steady clock.
struct ClaimTerm: Sendable {
    /// How long a claim lasts: that much later another gateway takes over from one that has died.
    static let lastsMs: UInt64 = 30_000
    /// What a claim has left at least when a request begins: more than a request takes.
    private static let leftMs: UInt64 = 15_000
    /// How often a gateway that has no claim tries to get it.
    static let lookMs: UInt64 = 2_000

    private var untilMs: UInt64 = 0
    /// Other gateways append to the stream, too.
    private(set) var isShared = false
    /// Another gateway sends, as far as is known.
    private(set) var isStandby = false

    /// Whether a request may begin.
    func isEnough(nowMs: UInt64) -> Bool { untilMs > nowMs + Self.leftMs }

    /// Takes the store's answer to a question that was asked at `nowMs`; nil: another gateway sends.
    mutating func take(_ claim: OutcomeClaim?, askedMs: UInt64) {
        isStandby = claim == nil
        isShared = claim?.isShared ?? true
        switch claim?.isShared {
        case nil: untilMs = 0
        case true?: untilMs = askedMs + Self.lastsMs
        case false?: untilMs = .max
        }
    }

    /// Whether there is a claim that others wait for.
    var isWorthReleasing: Bool { isShared && untilMs > 0 }
}
