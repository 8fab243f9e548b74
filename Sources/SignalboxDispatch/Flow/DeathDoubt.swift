public import SignalboxCore

/// Decides whether to believe a provider that a token is dead.
///
/// A token that the provider only blames (`Outcome.suspectsToken`) counts as dead if no push to it was ever accepted,
/// since rejected content causes the same answer.
///
/// A provider that calls every token dead, after a bad deployment or with wrong settings, would empty the registry.
/// After `inRowMax` in a row without an accepted push, tokens are kept and their pushes become dead letters that can be
/// replayed. Each origin that requests name counts as a provider of its own.
public struct DeathDoubt: Sendable {
    /// Dead tokens in a row that are believed.
    public static let inRowMax = 20
    /// Why a push to a token that was kept failed.
    public static let reason = "death_doubted"
    /// Most origins counted at a time: they come from tokens, so their number is not bounded otherwise.
    private static let originsMax = 1_000
    private var inRow = 0
    private var atOrigins: [String: Int] = [:]
    private var accepted = AcceptedTokens()
    /// Since when accepted pushes are remembered, on the steady clock.
    private let sinceMs: UInt64
    /// How far the memory must reach back to speak for devices registered before it, too.
    private static let latelyMs: UInt64 = 86_400_000

    /// Nothing is known about the provider yet.
    var isEmpty: Bool { inRow == 0 && atOrigins.isEmpty && accepted.isEmpty }

    /// Starts empty at `sinceMs` of the steady clock.
    public init(sinceMs: UInt64 = 0) { self.sinceMs = sinceMs }

    /// The outcome to use for a delivery to `device`.
    mutating func judged(
        _ given: Outcome, of device: Device, origin: String, _ now: LaneTime
    ) -> Outcome {
        if given.kind == .delivered {
            accepted.insert(device.token)
            _ = doubts(given, origin: origin)
            return given
        }
        var outcome = given
        if given.kind == .rejected, given.suspectsToken {
            guard isUnheardOf(device, now) else { return Self.kept(given) }
            outcome.kind = .unregistered
        }
        return doubts(outcome, origin: origin) ? Self.doubted(outcome) : outcome
    }

    /// Whether it is certain that a device accepted no push lately. False while the memory may be too short.
    private func isUnheardOf(_ device: Device, _ now: LaneTime) -> Bool {
        let memoryMs = now.steadyMs - min(now.steadyMs, sinceMs)
        let ageMs = now.unixMs - min(now.unixMs, device.registeredUnixMs)
        return !accepted.contains(device.token)
            && (device.registeredUnixMs == 0 || ageMs <= memoryMs || memoryMs >= Self.latelyMs)
    }

    private static func kept(_ outcome: Outcome) -> Outcome {
        var kept = outcome
        let why = "the token is kept: it was accepted before, or may have been"
        kept.detail += kept.detail.isEmpty ? why : "; \(why)"
        return kept
    }

    /// Records an outcome; true if its claim that the token is dead is not believed.
    public mutating func doubts(_ outcome: Outcome, origin: String = "") -> Bool {
        switch outcome.kind {
        case .delivered:
            if origin.isEmpty { inRow = 0 } else { atOrigins[origin] = nil }
        case .unregistered:
            guard !origin.isEmpty else {
                inRow += 1
                return inRow > Self.inRowMax
            }
            let count = atOrigins[origin, default: 0] + 1
            if count == 1, atOrigins.count >= Self.originsMax { atOrigins = [:] }
            atOrigins[origin] = min(count, Self.inRowMax + 1)
            return count > Self.inRowMax
        case .rejected, .retry, .throttled, .auth, .config: break
        }
        return false
    }

    /// The outcome that replaces one that is not believed.
    public static func doubted(_ outcome: Outcome) -> Outcome {
        var doubted = outcome
        doubted.kind = .rejected
        doubted.reason = reason
        doubted.detail =
            "the provider called the last \(inRowMax) tokens dead and accepted no push, so this one is kept "
            + "(\(outcome.reason)): look at the sender's settings and its provider"
        return doubted
    }
}
