/// What became of one delivery or change, as a plugin classified it.
///
/// Mirrors `sbx_outcome`.
public struct Outcome: Sendable {
    /// Mirrors `SBX_OUTCOME_*`.
    public enum Kind: UInt32, Sendable {
        /// The provider took it.
        case delivered = 1
        /// A passing fault: again, at the route's pace or later.
        case retry = 2
        /// Too fast: again, not before `retryAfterMs`.
        case throttled = 3
        /// The token is dead: forget it, tell its source.
        case unregistered = 4
        /// Our credential was refused: refresh it, then again.
        case auth = 5
        /// Wrong set-up: nothing of this scope can succeed until it is mended.
        case config = 6
        /// This content can never succeed.
        case rejected = 7
    }

    /// What an outcome is about beside its own item.
    ///
    /// Mirrors `SBX_SCOPE_*`.
    public enum Scope: UInt32, Sendable {
        /// This delivery alone.
        case item = 0
        /// Every delivery of this app.
        case app = 1
        /// Every delivery of this instance.
        case instance = 2
    }

    /// The id of the delivery or change.
    public var item: UInt64
    /// What happened.
    public var kind: Kind
    /// How far it reaches.
    public var scope: Scope = .item
    /// Take no further request to the connection that answered.
    public var reconnect = false
    /// Wait at least so long before the next attempt; 0: no hint.
    public var retryAfterMs: UInt64 = 0
    /// `unregistered`: a token registered after this lives; 0: unknown.
    public var goneSinceUnixMs: UInt64 = 0
    /// HTTP status or the provider's own number.
    public var providerCode: UInt32 = 0
    /// From a closed list of the plugin: fit for a metric label.
    public var reason = ""
    /// For people; no token, secret or body.
    public var detail = ""
    /// The provider's id of the message.
    public var providerID = ""
    /// The provider says: use this token from now on.
    ///
    /// Never logged.
    public var newToken = ""
    /// `auth`: which credential to refresh.
    public var credential = ""

    /// Makes an outcome.
    public init(item: UInt64, kind: Kind, reason: String = "") {
        self.item = item
        self.kind = kind
        self.reason = reason
    }
}
