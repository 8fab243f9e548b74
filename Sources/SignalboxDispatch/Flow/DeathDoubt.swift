public import SignalboxCore

/// Whether a provider is believed that a token is dead.
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

    /// No token was called dead since the last accepted push.
    var isEmpty: Bool { inRow == 0 && atOrigins.isEmpty }

    /// Nothing was heard of the provider yet.
    public init() {}

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
