/// The outcome of one delivery or change, as a plugin classified it.
///
/// Mirrors `sbx_outcome`.
public struct Outcome: Sendable {
    /// Mirrors `SBX_OUTCOME_*`.
    public enum Kind: UInt32, Sendable {
        /// The provider accepted it.
        case delivered = 1
        /// A transient error: retry by the route's policy, or later.
        case retry = 2
        /// Rate limited: retry after `retryAfterMs` at the earliest.
        case throttled = 3
        /// The token is dead: remove the device and report it to its source.
        case unregistered = 4
        /// The provider refused our credential: refresh it, then retry.
        case auth = 5
        /// Configuration error: nothing in this scope can succeed until it is fixed.
        case config = 6
        /// This content can never succeed.
        case rejected = 7
    }

    /// What else an outcome applies to besides its own item.
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

    /// Id of the delivery or change.
    public var item: UInt64
    /// What happened.
    public var kind: Kind
    /// What it applies to.
    public var scope: Scope = .item
    /// Send no more requests on the connection that answered.
    public var reconnect = false
    /// For `rejected`: the provider blames the token, and may mean the content.
    public var suspectsToken = false
    /// Minimum wait before the next attempt, in milliseconds; 0 for no hint.
    public var retryAfterMs: UInt64 = 0
    /// For `unregistered`: a token that was registered later is valid, in Unix milliseconds; 0 if unknown.
    public var goneSinceUnixMs: UInt64 = 0
    /// HTTP status or the provider's own code.
    public var providerCode: UInt32 = 0
    /// From a closed list of the plugin, so it can be a metric label.
    public var reason = ""
    /// The provider's id of the message.
    public var providerID = ""
    /// What most outcomes do not have, behind one reference: outcomes are copied at each step of a delivery's end.
    private var rare: Shared<RareTexts>?

    /// Texts of the payload that the host had shortened.
    public var shortened: ShortenedTexts = []

    /// Makes an outcome.
    public init(item: UInt64, kind: Kind, reason: String = "") {
        self.item = item
        self.kind = kind
        self.reason = reason
    }
}

/// Texts that an outcome has if something went wrong.
private struct RareTexts: Sendable {
    var detail = ""
    var newToken = ""
    var credential = ""
}

extension Outcome {
    /// Details for people; holds no token, secret or body.
    public var detail: String {
        get { rare?.fields.detail ?? "" }
        set { setRare(newValue) { $0.detail = newValue } }
    }
    /// The token that the provider wants used from now on.
    ///
    /// Never logged.
    public var newToken: String {
        get { rare?.fields.newToken ?? "" }
        set { setRare(newValue) { $0.newToken = newValue } }
    }
    /// For `auth`: the credential to refresh.
    public var credential: String {
        get { rare?.fields.credential ?? "" }
        set { setRare(newValue) { $0.credential = newValue } }
    }

    private mutating func setRare(_ value: String, _ change: (inout RareTexts) -> Void) {
        if rare == nil, value.isEmpty { return }
        rare = (rare ?? Shared(RareTexts())).changed(change)
    }
}
