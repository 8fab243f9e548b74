import SignalboxPluginKit

/// The `config:` of an instance.
struct Config: Sendable {
    static let schema = Keys.schema(
        """
        "sharesTokens": true,
        "emits": {
          "registration.requested": [],
          "message.requested": ["title", "body", "imageUrl", "link", "originalLink", "trackingId"]
        }
        """
    ) { try Config($0) }

    let server: Server?
    let client: Client?
    let caFile: String

    init(_ keys: Keys) throws(PluginError) {
        server = try keys.object(
            "server", "serves the device registration API in place of Customer Insights",
            Server.init)
        client = try keys.object(
            "client", "forwards devices of the registry to a real Customer Insights org",
            Client.init)
        caFile = keys.ca(
            "PEM file of trusted roots for callbacks instead of the system's")
        guard server != nil || client != nil else {
            throw PluginError(.invalid, "give server, client or both")
        }
    }

    /// One mobile app with its token.
    struct App: Sendable {
        let mobileAppID: String
        /// Name of the secret with its ApiToken.
        let token: String
        /// Name of the app in the registry.
        let app: String

        /// The list `apps`; the tokens that others show must have a length, too.
        static func list(
            _ keys: Keys, tokenBytes: PartialRangeFrom<Int>, _ words: String = ""
        ) throws(PluginError) -> [App] {
            try keys.list("apps", count: 1...1000) { keys in
                App(
                    mobileAppID: keys.text("mobile_app_id", bytes: 1...64),
                    token: keys.secret("api_token", bytes: tokenBytes, isRequired: true),
                    app: keys.app(words))
            }
        }

        static func check(_ apps: [App], _ place: String) throws(PluginError) {
            guard Set(apps.map { $0.mobileAppID.lowercased() }).count == apps.count else {
                throw PluginError(.invalid, "\(place).apps names a mobile_app_id twice")
            }
        }
    }

    struct Server: Sendable {
        let base: String
        let org: String
        let apps: [App]
        let messagesPath: String
        let apnsTokenMax: Int
        let signsBase64: Bool
        let callsPrivate: Bool
        let callbackTimeoutMs: UInt32

        init(_ keys: Keys) throws(PluginError) {
            base = keys.optionalPath(
                "base", bytes: ...256, "path prefix of /api/v1.0/orgs/...")
            org = keys.text("org", bytes: 1...128)
            apps = try App.list(
                keys, tokenBytes: 8...,
                "app of the registry and of the senders; empty: their default")
            messagesPath = keys.optionalPath(
                "messages_path",
                "takes messages for registered users; the gateway's own, empty: none")
            apnsTokenMax = keys.number(
                "apns_token_max", 64...4096, default: 200,
                "longer APNs tokens fail with DeviceTokenTooLong")
            let signature = keys.choice(
                "signature", ["hex", "base64"], "how the signature of a callback is written")
            signsBase64 = signature == "base64"
            callsPrivate = keys.flag(
                "callbacks_to_private",
                "allow callback URLs on private and loopback addresses, and http")
            callbackTimeoutMs = keys.number(
                "callback_timeout_ms", 100...60_000, default: 10_000)
            try App.check(apps, "server")
        }

        func app(_ id: String) -> App? {
            apps.first { $0.mobileAppID.lowercased() == id.lowercased() }
        }
    }

    struct Client: Sendable {
        let origin: String
        /// Path prefix of the endpoint, up to the organization.
        let prefix: String
        let apps: [App]
        let callbackURL: String
        let callbackPath: String
        let cleansOneByOne: Bool
        let pollMs: UInt64
        let pendingLimitMs: UInt64
        let caFile: String

        init(_ keys: Keys) throws(PluginError) {
            // The dashboard shows the endpoint with or without a trailing slash.
            var endpoint = keys.uri(
                "endpoint", bytes: 8..., default: nil,
                "PublicEndpoint of the app's developer information")
            while endpoint.hasSuffix("/") { endpoint.removeLast() }
            let afterScheme = endpoint.split(
                separator: "/", maxSplits: 3, omittingEmptySubsequences: false)
            let path = afterScheme.count > 3 ? "/" + afterScheme[3] : ""
            origin = String(endpoint.dropLast(path.utf8.count))
            let org = PathSegment.encode(keys.text("org", bytes: 1...128))
            prefix = "\(path)/api/v1.0/orgs/\(org)"
            apps = try App.list(keys, tokenBytes: 1...)
            let url = keys.uri(
                "callback_url", "public URL of callback_path; empty: outcomes are asked for instead"
            )
            callbackURL = url.hasSuffix("/") ? String(url.dropLast()) : url
            callbackPath = keys.optionalPath("callback_path", bytes: ...256)
            let cleanup = keys.choice(
                "cleanup", ["array", "object"],
                "shape of cleanups: a batch, or one call per device")
            cleansOneByOne = cleanup == "object"
            pollMs = keys.number(
                "poll_ms", 10...3_600_000, default: 5_000,
                "how long to wait before asking for an outcome")
            pendingLimitMs = keys.number(
                "pending_limit_ms", 100...604_800_000, default: 21_600_000,
                "when a pending registration is given up")
            caFile = keys.ca()
            try App.check(apps, "client")
            guard url.isEmpty == callbackPath.isEmpty else {
                throw PluginError(
                    .invalid, "client: give callback_url and callback_path, or neither")
            }
        }

        func app(_ name: String) -> App? {
            apps.first { $0.app == name } ?? apps.first { $0.app.isEmpty }
        }
    }
}
