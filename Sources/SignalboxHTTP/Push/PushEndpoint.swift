/// Why an endpoint is unusable; holds no secret.
public struct EndpointError: Error, Sendable, CustomStringConvertible {
    /// Names the error and the fix.
    public let message: String

    /// The message.
    public var description: String { message }
}

/// The peer of a connection pool, with its connection options.
public struct PushEndpoint: Sendable, Hashable {
    /// Name or IP literal.
    public var host: String
    /// TCP port.
    public var port: Int
    /// PEM file of trusted roots; nil for the system's.
    public var caFile: String?
    /// Client certificate chain, PEM.
    public var clientCertificatePEM: [UInt8]?
    /// Client key, PEM.
    public var clientKeyPEM: [UInt8]?
    /// Refuse a peer that does not choose `h2`.
    public var isALPNRequired = false
    /// One request at a time on a connection until its first 2xx.
    public var isOneStreamFirst = false
    /// Time from sending to the answer.
    public var requestTimeoutMs = 10_000
    /// TCP, TLS and the peer's SETTINGS together.
    public var connectTimeoutMs = 10_000
    /// Idle time before a PING; 0 for none while idle.
    public var pingIdleMs = 0
    /// A connection that does not answer a PING within this time is dead.
    public var pingTimeoutMs = 10_000
    /// Most connections.
    public var connectionsMax = 2
    /// Our own limit of streams below the peer's SETTINGS; 0 for none.
    public var streamsMax = 0
    /// Which proxy connections go through.
    public var proxies = ProxyRules.direct
    /// The proxy that they go through; nil if they connect directly.
    public var proxy: ProxyAddress? { proxies.proxy(host: host, port: port, isSecure: true) }

    /// Parses an origin: `https://api.push.apple.com`, `https://127.0.0.1:2197`.
    public init(origin: String) throws(EndpointError) {
        let scheme = "https://"
        guard origin.hasPrefix(scheme) else {
            throw EndpointError(message: "the origin must begin with https://")
        }
        var rest = origin.dropFirst(scheme.count)
        if rest.hasSuffix("/") { rest.removeLast() }
        guard !rest.contains(where: { "/?#@ ".contains($0) }) else {
            throw EndpointError(message: "the origin is a host with a port, without path or user")
        }
        var name = rest
        var port = 443
        let isBracketed = rest.hasPrefix("[")
        if let colon = rest.lastIndex(of: ":"), !isBracketed || rest[..<colon].hasSuffix("]") {
            guard let given = Int(rest[rest.index(after: colon)...]), (1...65535).contains(given)
            else { throw EndpointError(message: "the origin's port must be 1 to 65535") }
            name = rest[..<colon]
            port = given
        }
        if isBracketed {
            guard name.hasSuffix("]") else {
                throw EndpointError(message: "the origin's IPv6 address must end with ]")
            }
            name = name.dropFirst().dropLast()
        }
        guard name.utf8.allSatisfy({ (0x21...0x7E).contains($0) }) else {
            throw EndpointError(message: "the origin has a character that no host name has")
        }
        guard !name.isEmpty else { throw EndpointError(message: "the origin names no host") }
        host = String(name)
        self.port = port
    }

    /// `host:port`, without the port if it is 443; the `:authority` of requests.
    public var authority: String { port == 443 ? String(place.dropLast(4)) : place }

    /// `host:port`.
    var place: String { (host.contains(":") ? "[\(host)]" : host) + ":\(port)" }
}
