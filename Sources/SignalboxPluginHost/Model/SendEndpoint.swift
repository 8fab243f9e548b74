public import SignalboxCore

/// Where requests of one app go, as the plugin says.
public struct SendEndpoint: Sendable, Hashable {
    /// `https://host:port`.
    public var origin: String
    /// PEM file of trusted roots; nil for the system's.
    public var caFile: String?
    /// Client certificate chain and key, PEM.
    public var clientIdentity: ClientIdentity?
    /// Refuse a peer that does not choose `h2`.
    public var isALPNRequired: Bool
    /// One request at a time until the first 2xx.
    public var isOneStreamFirst: Bool
    /// A request whose outcome is unknown is not retried.
    public var isAtMostOnce: Bool
    /// Over a pool that also speaks HTTP/1.1 and has connections to other origins.
    public var isREST = false
    /// Requests may name origins on private networks.
    public var allowsPrivateOrigins = false
    /// Apps with an equal endpoint share connections.
    public var isShared = false
    /// 0 means the engine's default, here and below unless noted.
    public var requestTimeoutMs: Int
    /// TCP, TLS and SETTINGS together.
    public var connectTimeoutMs: Int
    /// PING after this long without traffic; 0 for never while idle.
    public var pingIdleMs: Int
    /// A connection is dead if a PING is unanswered for this long.
    public var pingTimeoutMs: Int
    /// Most connections.
    public var connectionsMax: Int
    /// Most streams per connection, if the peer's SETTINGS allow more.
    public var streamsMax: Int

    /// A client's certificate for mutual TLS.
    public struct ClientIdentity: Sendable, Hashable {
        /// PEM chain.
        public var certificate: [UInt8]
        /// PEM key.
        public var key: [UInt8]
    }
}

/// The result of `prepare` for a batch.
public enum PrepareResult: Sendable {
    /// Requests to send, and outcomes decided without one.
    case ready(RequestBatch, settled: [Outcome])
    /// Offer the batch again later: a credential is being fetched, or the plugin's process restarts.
    case again(isRestarting: Bool)
    /// The plugin failed; nothing was taken.
    case failed(PluginFault)
}
