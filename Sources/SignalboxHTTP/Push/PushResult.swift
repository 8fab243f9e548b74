/// A snapshot of a pool.
public struct PushPoolStatus: Sendable {
    /// Connections that take requests.
    public var ready: Int
    /// Connections that are being opened.
    public var connecting: Int
    /// Connections that only finish their open requests.
    public var draining: Int
    /// Requests that wait for a stream.
    public var waiting: Int
    /// Requests that were sent and have no answer, including those whose late answer may still come.
    public var inFlight: Int
    /// Why the last connect failed; empty if it did not, or one has succeeded since.
    public var failure: String
    /// Whether the last connect failed and none has succeeded since.
    public var isFailing: Bool { !failure.isEmpty }
    /// The proxy that connections go through.
    public var proxy: ProxyAddress?

    /// A pool without connections and requests.
    public static let idle = PushPoolStatus(
        ready: 0, connecting: 0, draining: 0, waiting: 0, inFlight: 0, failure: "")
}

/// An event of a connection, safe to log.
public struct PushPoolEvent: Sendable {
    /// Kinds of events.
    public enum Kind: String, Sendable, CaseIterable {
        case connected
        case connectFailed = "connect_failed"
        case goAway = "go_away"
        case closed
        case pingTimeout = "ping_timeout"
        /// It answers PING but no requests.
        case stalled
    }
    /// What happened.
    public let kind: Kind
    /// Number of the connection.
    public let connection: UInt64
    /// Details: the peer's reason, or an error.
    public let text: String
    /// Requests that wait for a connection.
    public var waiting = 0

    /// Whether an operator should see each of them.
    public var isFault: Bool { kind == .pingTimeout || kind == .stalled }
}
