internal import CSignalbox

/// What became of one delivery.
public struct Outcome: Sendable {
    /// What happened.
    public enum Kind: UInt32, Sendable {
        /// The provider took it.
        case delivered = 1
        /// A passing fault: again, at the route's pace or later.
        case retry
        /// Too fast: again, not before `retryAfterMs`.
        case throttled
        /// The token is dead.
        case unregistered
        /// Our credential was refused: refresh it, then again.
        case auth
        /// Wrong set-up: nothing of this scope can succeed until it is mended.
        case config
        /// This content can never succeed.
        case rejected
    }

    /// What the outcome is about, beside its own delivery.
    public enum Scope: UInt32, Sendable {
        case item = 0
        case app, instance
    }

    /// What happened.
    public var kind: Kind
    /// From a closed list: fit for a metric label.
    public var reason: String
    /// How far it reaches.
    public var scope = Scope.item
    /// Take no further request to the connection that answered.
    public var reconnect = false
    /// Can only lengthen the route's own wait; 0: no hint.
    public var retryAfterMs: UInt64 = 0
    /// `unregistered`: a token registered after this lives; 0: unknown.
    public var goneSinceUnixMs: UInt64 = 0
    /// HTTP status or the provider's own number.
    public var providerCode: UInt32 = 0
    /// For people; no token, secret or body.
    public var detail = ""
    /// The provider's id of the message.
    public var providerID = ""
    /// The provider asks for this token in place of the device's.
    ///
    /// Never logged.
    public var newToken = ""
    /// `auth`: which credential to refresh.
    public var credential = ""

    /// Makes an outcome.
    public init(_ kind: Kind, _ reason: String) {
        self.kind = kind
        self.reason = reason
    }

    func write(item: UInt64, to out: UnsafeMutablePointer<sbx_outcome>, _ arena: Arena) {
        out.pointee.struct_size = UInt32(MemoryLayout<sbx_outcome>.size)
        out.pointee.kind = kind.rawValue
        out.pointee.scope = scope.rawValue
        out.pointee.flags = reconnect ? SBX_OUTCOME_RECONNECT : 0
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
