/// What plugins have in common: these keys mean the same in each.
extension Keys {
    /// `endpoint`: another origin than the provider's, or `standard`.
    public func endpoint(_ standard: String, _ words: String = "") -> String {
        let given = uri("endpoint", words)
        return given.isEmpty ? standard : given
    }

    /// `ca`: what a call's `caFile` needs.
    public func ca(
        _ words: String = "PEM file of trusted roots instead of the system's"
    ) -> String { file("ca", words) }

    /// `ca`, `request_timeout_ms` and `connections`: what a sender's endpoint needs.
    public func connections(
        _ standard: UInt32, upTo most: UInt32 = 64, _ words: String = "most connections at a time"
    ) -> Connections {
        Connections(
            caFile: ca(),
            requestTimeoutMs: number(
                "request_timeout_ms", 100...60_000, default: 10_000,
                "how long a push may take from submit to answer"),
            most: number("connections", 1...most, default: standard, words))
    }

    /// `apps`: for a sender whose tokens do not say which of the provider's projects they are of.
    public func servedApps(_ words: String) -> ServedApps {
        ServedApps(names: Set(texts("apps", count: ...1_000, bytes: 1...255, words)))
    }

    /// `app`: a name in the registry, or empty.
    public func app(_ words: String = "") -> String {
        text("app", bytes: ...255, default: "", words)
    }

    /// `path`: that of a webhook.
    public func webhookPath(default: String? = nil, _ words: String) -> String {
        text("path", bytes: 2...512, pattern: "^/[!-~]+$", default: `default`, words)
    }

    /// The path of a webhook that need not be served, or empty.
    public func optionalPath(
        _ key: String, bytes: some RangeExpression<Int> = ...512, default: String = "",
        _ words: String = ""
    ) -> String {
        text(key, bytes: bytes, pattern: "^(/[!-~]+)?$", default: `default`, words)
    }

    /// `display` among a route's options, with the default first; `app` makes a push `isDataOnly`.
    public func display(_ standard: String, _ other: String) -> String {
        choice(
            "display", [standard, other],
            "who shows it on Android: the app from data, or the system")
    }

    /// `headers`: names in lower case, with the names of the secrets that are their values.
    public func headers(
        upTo most: Int, nameUpTo length: Int, _ words: String
    ) throws(PluginError) -> [(name: String, secret: String)] {
        try list("headers", count: ...most, words) { keys in
            let name = keys.text("name", pattern: "^[A-Za-z][A-Za-z0-9-]{0,\(length - 1)}$")
            return (name.lowercased(), keys.secret("value", isRequired: true))
        }
    }

    /// `user`, `password` and `headers`: what callers of a webhook without signatures must show.
    public func caller() throws(PluginError) -> CallerCheck {
        let check = CallerCheck(
            user: text("user", bytes: ...128, pattern: "^[^:]*$", default: ""),
            password: secret("password", "with user: HTTP Basic credentials of the callers"),
            headers: try headers(
                upTo: 4, nameUpTo: 24, "header fields that every caller sends"))
        guard check.password.isEmpty == check.user.isEmpty else {
            throw PluginError(.invalid, "give user and password, or neither")
        }
        return check
    }
}

/// The keys `ca`, `request_timeout_ms` and `connections` of a sender.
public struct Connections: Sendable {
    /// PEM file of trusted roots; empty for the system's.
    public let caFile: String
    /// From submit to answer.
    public let requestTimeoutMs: UInt32
    /// Most connections; with `isREST` most requests at a time.
    public let most: UInt32
}

extension Endpoint {
    /// Makes an endpoint for the connections that the config wants.
    public init(origin: String, _ connections: Connections) {
        self.init(origin: origin)
        caFile = connections.caFile
        requestTimeoutMs = connections.requestTimeoutMs
        connectionsMax = connections.most
    }
}

/// The apps whose pushes a sender takes.
public struct ServedApps: Sendable {
    let names: Set<String>

    /// Throws `notFound` if the config has apps and not this one; the default app has no name.
    public func check(_ app: String) throws(PluginError) {
        guard app.isEmpty || names.isEmpty || names.contains(app) else {
            throw PluginError(.notFound, "\"\(app)\" is not one of config.apps")
        }
    }
}

/// What callers must show.
public struct CallerCheck: Sendable {
    let user: String
    let password: String
    let headers: [(name: String, secret: String)]

    /// Whether anybody may call.
    public var isOpen: Bool { password.isEmpty && headers.isEmpty }

    /// Whether a request shows everything that the config asks for.
    public func fits(_ request: borrowing Request, _ host: Host) throws(PluginError) -> Bool {
        var fits = true
        if !password.isEmpty {
            let given = request.header("authorization") ?? ""
            let isBasic = given.lowercased().hasPrefix("basic ")
            let bytes = isBasic ? Base64URL.decode(given.dropFirst(6)) ?? [] : []
            let parts = String(decoding: bytes, as: UTF8.self).split(
                separator: ":", maxSplits: 1, omittingEmptySubsequences: false)
            let isUser = parts.first.map { String($0) } == user
            let isPassword = try host.secretEquals(
                password, parts.count == 2 ? String(parts[1]) : "")
            fits = isUser && isPassword
        }
        for header in headers {
            let isThere = try host.secretEquals(header.secret, request.header(header.name) ?? "")
            fits = fits && isThere
        }
        return fits
    }
}
