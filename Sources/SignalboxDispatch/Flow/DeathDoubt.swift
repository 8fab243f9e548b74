public import SignalboxCore

/// Whether a provider is believed that a token is dead.
///
/// A token that the provider merely blames (`Outcome.suspectsToken`) is dead if no push to it was accepted before: the same
/// answer comes for content that it does not like.
///
/// One that calls every token dead, after a deployment or for settings that are wrong, would empty the registry: after so
/// many in a row without an accepted push, tokens are kept, and their pushes are dead letters that can be replayed.
/// Origins that requests name are providers of their own.
public struct DeathDoubt: Sendable {
    /// So many in a row are believed.
    public static let inRowMax = 20
    /// Why a push to a token that was kept failed.
    public static let reason = "death_doubted"
    /// Origins that are counted at a time: they come from tokens.
    private static let originsMax = 1_000
    private var inRow = 0
    private var atOrigins: [String: Int] = [:]
    private var accepted = AcceptedTokens()
    /// Since when it knows what was accepted, on the steady clock.
    private let sinceMs: UInt64
    /// A token that was not accepted for so long was not accepted lately.
    private static let latelyMs: UInt64 = 86_400_000

    /// It knows nothing of the provider.
    var isEmpty: Bool { inRow == 0 && atOrigins.isEmpty && accepted.isEmpty }

    /// Nothing was heard of the provider since `sinceMs` of the steady clock.
    public init(sinceMs: UInt64 = 0) { self.sinceMs = sinceMs }

    /// The outcome that counts for a delivery to `device`.
    mutating func judged(
        _ given: Outcome, of device: Device, origin: String, _ now: LaneTime
    ) -> Outcome {
        var outcome = given
        if given.kind == .rejected, given.suspectsToken {
            guard isUnheardOf(device, now) else { return Self.kept(given) }
            outcome.kind = .unregistered
        }
        if given.kind == .delivered { accepted.insert(device.token) }
        return doubts(outcome, origin: origin) ? Self.doubted(outcome) : outcome
    }

    /// Whether surely no push to a device was accepted lately: not where it was registered before this memory began.
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

    /// Takes an outcome in; true: its word about the token is not believed.
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

    /// What is made of an outcome that is not believed.
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
