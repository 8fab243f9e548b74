internal import CSignalbox

/// The outcome of one delivery; thrown where rendering decides it.
public struct Outcome: Error, CustomStringConvertible {
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
    public init(
        _ kind: Kind, _ reason: String, detail: String = "", scope: Scope = .item,
        retryAfterMs: UInt64 = 0, reconnect: Bool = false, suspectsToken: Bool = false,
        credential: String = "", providerID: String = "", newToken: String = ""
    ) {
        self.kind = kind
        self.reason = reason
        self.detail = detail
        self.scope = scope
        self.retryAfterMs = retryAfterMs
        self.reconnect = reconnect
        self.suspectsToken = suspectsToken
        self.credential = credential
        self.providerID = providerID
        self.newToken = newToken
    }

    /// Makes the outcome for an HTTP status that the provider does not document, with the reason `http_3xx`, `http_4xx`, ....
    ///
    /// A redirect is that of something in between, and no delivery's fault, so it is tried again.
    public init(unknownStatus status: Int) {
        self.init((300...399).contains(status) ? .retry : .rejected, "http_\(status / 100)xx")
    }

    /// Makes the outcome of a report for an HTTP status, as most APIs mean it.
    ///
    /// `refusal` says what to do about 401 and 403; `waitMs` is for a 429 without Retry-After.
    public init(
        reportStatus status: Int, accepted: String, refusal: String, retryAfterMs: UInt64?,
        waitMs: UInt64 = 60_000
    ) {
        switch status {
        case 200...299: self.init(.delivered, accepted)
        case 401, 403: self.init(.config, "forbidden", detail: refusal, scope: .instance)
        case 429:
            self.init(
                .throttled, "too_many_requests", scope: .instance,
                retryAfterMs: retryAfterMs ?? waitMs)
        case 500...599: self.init(.retry, "server_error", retryAfterMs: retryAfterMs ?? 0)
        default: self.init(unknownStatus: status)
        }
        providerCode = UInt32(clamping: status)
    }

    /// The reason: what else an outcome says is not for every log.
    public var description: String { reason }

    /// The token cannot be one of the provider's.
    public static let malformedToken = Outcome(.rejected, "malformed_token")
    /// The notification's data or overrides are not what the provider takes.
    public static let malformedData = Outcome(.rejected, "malformed_data")
    /// The data has a key that the provider keeps for itself.
    public static let reservedKey = Outcome(.rejected, "reserved_data_key")
    /// The payload is over the provider's limit, even with shortened texts.
    public static let tooLarge = Outcome(.rejected, "payload_too_large")

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
