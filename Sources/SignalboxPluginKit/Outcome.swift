internal import CSignalbox

/// The outcome of one delivery.
public struct Outcome: Sendable {
    /// What happened.
    public enum Kind: UInt32, Sendable {
        /// The provider accepted it.
        case delivered = 1
        /// A temporary failure: retry, at the route's pace or later.
        case retry
        /// Too fast: retry, not before `retryAfterMs`.
        case throttled
        /// The token is dead.
        case unregistered
        /// Our credential was refused: refresh it, then retry.
        case auth
        /// Wrong configuration: nothing in this scope can succeed until it is fixed.
        case config
        /// This content can never succeed.
        case rejected
    }

    /// What else the outcome applies to, in addition to its own delivery.
    public enum Scope: UInt32, Sendable {
        case item = 0
        case app, instance
    }

    /// What happened.
    public var kind: Kind
    /// From a fixed list, so that it can be a metric label.
    public var reason: String
    /// What it applies to.
    public var scope = Scope.item
    /// Send no further request on the connection that answered.
    public var reconnect = false
    /// For `rejected`: the provider blames the token, and may mean the content.
    ///
    /// The host makes `unregistered` of it if the provider accepted no push to this token before.
    public var suspectsToken = false
    /// In milliseconds; it can only lengthen the route's own wait; 0 for no hint.
    public var retryAfterMs: UInt64 = 0
    /// For `unregistered`: a token registered after this time is still valid; 0 for unknown.
    public var goneSinceUnixMs: UInt64 = 0
    /// HTTP status or the provider's own number.
    public var providerCode: UInt32 = 0
    /// For people; no token, secret or body.
    public var detail = ""
    /// The provider's id of the message.
    public var providerID = ""
    /// The token that the provider wants instead of the device's.
    ///
    /// Never logged.
    public var newToken = ""
    /// For `auth`: the credential to refresh.
    public var credential = ""

    /// Makes an outcome.
    public init(_ kind: Kind, _ reason: String) {
        self.kind = kind
        self.reason = reason
    }

    /// Makes the outcome for an HTTP status that the provider does not document, with the reason `http_3xx`, `http_4xx`, ....
    ///
    /// A redirect is that of something in between, and no delivery's fault, so it is tried again.
    public init(unknownStatus status: Int) {
        self.init((300...399).contains(status) ? .retry : .rejected, "http_\(status / 100)xx")
    }

    func write(item: UInt64, to out: UnsafeMutablePointer<sbx_outcome>, _ arena: Arena) {
        out.pointee.struct_size = UInt32(MemoryLayout<sbx_outcome>.size)
        out.pointee.kind = kind.rawValue
        out.pointee.scope = scope.rawValue
        out.pointee.flags =
            (reconnect ? SBX_OUTCOME_RECONNECT : 0) | (suspectsToken ? SBX_OUTCOME_SUSPECT : 0)
        out.pointee.item = item
        out.pointee.retry_after_ms = retryAfterMs
        out.pointee.gone_since_unix_ms = goneSinceUnixMs
        out.pointee.provider_code = providerCode
        out.pointee.reason = arena.text(reason)
        out.pointee.detail = arena.text(detail)
        out.pointee.provider_id = arena.text(providerID)
        out.pointee.new_token = arena.text(newToken)
        out.pointee.credential = arena.text(credential)
    }
}
