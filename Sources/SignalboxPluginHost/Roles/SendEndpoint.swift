public import SignalboxCore

/// Where requests of one app go, as the plugin says.
public struct SendEndpoint: Sendable, Hashable {
    /// `https://host:port`.
    public var origin: String
    /// PEM file of trusted roots; nil: the system's.
    public var caFile: String?
    /// Client certificate chain and key, PEM.
    public var clientIdentity: ClientIdentity?
    /// Refuse a peer that does not choose `h2`.
    public var isALPNRequired: Bool
    /// One request at a time until the first 2xx.
    public var isOneStreamFirst: Bool
    /// A request whose fate is unknown is not tried again.
    public var isAtMostOnce: Bool
    /// 0: the engine's default, for each of these.
    public var requestTimeoutMs: Int
    /// TCP, TLS and SETTINGS together.
    public var connectTimeoutMs: Int
    /// PING after so long without traffic; 0: never while idle.
    public var pingIdleMs: Int
    /// A connection that owes a PING answer so long is dead.
    public var pingTimeoutMs: Int
    /// Most connections.
    public var connectionsMax: Int
    /// Own cap below the peer's SETTINGS.
    public var streamsMax: Int

    /// A client's certificate for mutual TLS.
    public struct ClientIdentity: Sendable, Hashable {
        /// PEM chain.
        public var certificate: [UInt8]
        /// PEM key.
        public var key: [UInt8]
    }
}

/// What `prepare` made of a batch.
public enum PrepareResult: Sendable {
    /// Requests to send, and what is decided without one.
    case ready(RequestBatch, settled: [Outcome])
    /// A credential is on its way: offer the batch again.
    case again
    /// The plugin failed; nothing was taken.
    case failed(PluginFault)
}
