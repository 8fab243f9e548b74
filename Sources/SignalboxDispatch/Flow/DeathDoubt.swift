public import SignalboxCore

/// Whether a provider is believed that a token is dead.
///
/// One that calls every token dead, after a deployment or for settings that are wrong, would empty the registry: after so
/// many in a row without an accepted push, tokens are kept, and their pushes are dead letters that can be replayed.
public struct DeathDoubt: Sendable {
    /// So many in a row are believed.
    public static let inRowMax = 20
    /// Why a push to a token that was kept failed.
    public static let reason = "death_doubted"
    private var inRow = 0

    /// Nothing was heard of the provider yet.
    public init() {}

    /// Takes an outcome in; true: its word about the token is not believed.
    public mutating func doubts(_ outcome: Outcome) -> Bool {
        switch outcome.kind {
        case .delivered: inRow = 0
        case .unregistered:
            guard inRow < Self.inRowMax else { return true }
            inRow += 1
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
