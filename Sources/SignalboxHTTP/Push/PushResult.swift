/// A pool at one moment.
public struct PushPoolStatus: Sendable {
    /// Connections that take requests.
    public var ready: Int
    /// Connections that are being made.
    public var connecting: Int
    /// Connections that finish what is open on them.
    public var draining: Int
    /// Requests that wait for a stream.
    public var waiting: Int
    /// Requests that were sent and have no answer, those included whose late answer is awaited.
    public var inFlight: Int
    /// The last connect failed and none has succeeded since.
    public var isFailing: Bool

    /// Nothing anywhere.
    public static let idle = PushPoolStatus(
        ready: 0, connecting: 0, draining: 0, waiting: 0, inFlight: 0, isFailing: false)
}

/// Something that happened to a connection, in words that are safe to log.
public struct PushPoolEvent: Sendable {
    /// What kind of thing happened.
    public enum Kind: String, Sendable {
        case connected
        case connectFailed = "connect_failed"
        case goAway = "go_away"
        case closed
        case pingTimeout = "ping_timeout"
        /// It answers PING and no request.
        case stalled
    }
    /// What happened.
    public let kind: Kind
    /// Which connection.
    public let connection: UInt64
    /// More about it: a peer's reason, an error.
    public let text: String

    /// Whether an operator should see it.
    public var isFault: Bool {
        kind == .connectFailed || kind == .pingTimeout || kind == .stalled
    }
}
