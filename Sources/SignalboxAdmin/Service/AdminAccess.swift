internal import SignalboxConfig
internal import SignalboxCore
internal import SignalboxCrypto
internal import SignalboxHTTP

/// Who may use the admin listener.
///
/// A web page that an operator has open must not reach the listener through their browser, neither under a name that
/// resolves to this machine (DNS rebinding) nor by a form or script that posts from its origin. Browsers may change
/// something only if a token is configured.
struct AdminAccess: Sendable {
    /// These need no token: load balancers have none, nor has a browser before it shows the page.
    private static let open = PageAdmin.openPaths.union(["/livez", "/healthz", "/readyz"])

    private let hosts: Set<String>
    /// Whether any IP address is accepted as the host, for a listener on all addresses. That is safe: a page cannot
    /// make an IP address resolve to another machine.
    private let takesAnyAddress: Bool
    /// SHA-256 of the token; nil if none is needed.
    private let token: [UInt8]?

    /// `names`: hosts besides the address and this machine.
    init(_ address: ListenAddress?, names: [String], token: String?) {
        var hosts: Set = ["localhost", "127.0.0.1", "::1"]
        if let address { hosts.insert(address.host.lowercased()) }
        for host in names { hosts.insert(host.lowercased()) }
        self.hosts = hosts
        takesAnyAddress = address?.isWildcard ?? false
        self.token = token.map { Digest.sha256(Array($0.utf8)) }
    }

    /// The answer to a refused request; nil if the request is allowed.
    func refusal(_ request: HTTPServerRequest, isGuarded: Bool = false) -> HTTPServerAnswer? {
        // A client without a Host field is not a browser.
        let hosts = request.headers.filter { $0.key == "host" }
        guard hosts.allSatisfy({ isKnown($0.value) }) else {
            return Problem(421, "this host is unknown; add it to gateway.admin_hosts").answer
        }
        for origin in request.headers where origin.key == "origin" {
            guard let host = hosts.first?.value,
                ["http://\(host)", "https://\(host)"].contains(origin.value)
            else { return Problem(403, "requests from other origins are refused").answer }
        }
        // Requests without an Origin field; following a link to the page is fine.
        if let site = request.header("sec-fetch-site"), !["same-origin", "none"].contains(site),
            request.header("sec-fetch-mode") != "navigate"
        {
            return Problem(403, "requests from other sites are refused").answer
        }
        if !Self.open.contains(request.path), let refusal = tokenRefusal(request) {
            return refusal
        }
        let isBrowser = request.headers.contains { ["origin", "sec-fetch-site"].contains($0.key) }
        if isGuarded, isBrowser, token == nil {
            return Problem(
                403, "a browser may change something, or export, only if gateway.admin_token is set"
            ).answer
        }
        guard request.method != "POST" || Self.isJSON(request.header("content-type")) else {
            return Problem(415, "send content-type: application/json").answer
        }
        return nil
    }

    private func isKnown(_ host: String) -> Bool {
        guard let name = Self.name(of: host) else { return false }
        return hosts.contains(name)
            || takesAnyAddress && ListenAddress.bytes(of: name) != nil
    }

    private func tokenRefusal(_ request: HTTPServerRequest) -> HTTPServerAnswer? {
        guard let token else { return nil }
        let parts = (request.header("authorization") ?? "").split(separator: " ", maxSplits: 1)
        if parts.count == 2, parts[0].lowercased() == "bearer",
            HMACDigest.isEqual(Digest.sha256(Array(parts[1].utf8)), token)
        {
            return nil
        }
        var answer = Problem(401, "send the token of gateway.admin_token as bearer token").answer
        answer.headers.append(Attribute("www-authenticate", "Bearer"))
        return answer
    }

    /// The host of a Host field in lower case, without port and brackets; nil if it is malformed.
    private static func name(of host: String) -> String? {
        var name = host[...]
        if let colon = host.lastIndex(of: ":"), !host.hasSuffix("]") {
            guard host[colon...].dropFirst().utf8.allSatisfy({ (48...57).contains($0) }) else {
                return nil
            }
            name = host[..<colon]
        }
        if name.hasPrefix("["), name.hasSuffix("]") { name = name.dropFirst().dropLast() }
        return name.lowercased()
    }

    private static func isJSON(_ type: String?) -> Bool {
        let name = (type ?? "").prefix { $0 != ";" && $0 != " " }
        return name.lowercased() == "application/json"
    }
}
