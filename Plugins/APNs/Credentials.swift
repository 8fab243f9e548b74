import SignalboxPluginKit

/// A set of credentials with the topics that it serves.
struct Account: Sendable {
    /// How the account authenticates.
    enum Login: Sendable {
        /// A JWT, signed with a `.p8` key.
        case token(teamID: String, keyID: String)
        /// A client certificate.
        case certificate
    }

    /// Path of its keys in the config: empty, or `apps.0.`.
    let path: String
    let topic: String
    /// Bundle ids, without the suffixes of push types.
    let topics: Set<String>
    /// Topics that the certificate allows, with suffixes; empty if it does not list any.
    let allowed: Set<String>
    let login: Login
    let origin: String
    let isProduction: Bool
    /// Whether Apple keeps the newest message of a channel for devices that are away.
    let channelsStore: Bool
    let hasKeyFile: Bool
    let hasPassword: Bool

    /// Name of its provider token among the instance's credentials.
    let providerToken: String

    var usesToken: Bool {
        if case .token = login { true } else { false }
    }

    init(
        _ json: JSON, path: String, endpoint: String, port: Int64, host: Host
    ) throws(PluginError) {
        let place = path.isEmpty ? "" : "\(path.dropLast()): "
        let hasKey = json["key"] != nil
        let hasCertificate = json["certificate"] != nil
        guard hasKey != hasCertificate else {
            throw PluginError(
                .invalid,
                place
                    + (hasKey
                        ? "give either key or certificate, not both"
                        : "give key with key_id and team_id, or certificate"))
        }
        self.path = path
        providerToken = "provider_token\(path.isEmpty ? "" : ".\(path.dropLast())")"
        channelsStore = json["channel_storage"]?.string == "most_recent"
        hasKeyFile = json["certificate_key"] != nil
        hasPassword = json["certificate_password"] != nil
        var topic = json["topic"]?.string ?? ""
        var topics = Set(json["topics"]?.elements.compactMap(\.string) ?? [])
        var allowed: Set<String> = []
        if hasKey {
            let (team, key) = (json["team_id"]?.string ?? "", json["key_id"]?.string ?? "")
            guard !team.isEmpty, !key.isEmpty else {
                throw PluginError(.invalid, "\(place)a key needs key_id and team_id")
            }
            guard !topic.isEmpty else {
                throw PluginError(.invalid, "\(place)a key needs topic, the app's bundle id")
            }
            login = .token(teamID: team, keyID: key)
        } else {
            login = .certificate
            let names = Self.topics(
                of: try Self.certificate(
                    path: path, hasPassword: json["certificate_password"] != nil, host: host))
            allowed = Set(names)
            if topic.isEmpty { topic = names.first ?? "" }
            guard !topic.isEmpty else {
                throw PluginError(.invalid, "\(place)the certificate names no topic; give topic")
            }
            guard allowed.isEmpty || allowed.contains(topic) else {
                throw PluginError(
                    .invalid,
                    "\(place)the certificate is for \(names.joined(separator: ", ")), not \(topic)")
            }
            topics.formUnion(names.filter { !Self.isSuffixed($0, among: allowed) })
        }
        self.topic = topic
        self.topics = topics.union([topic])
        self.allowed = allowed
        isProduction = json["environment"]?.string == "production"
        let name = isProduction ? "api.push.apple.com" : "api.sandbox.push.apple.com"
        origin = endpoint.isEmpty ? "https://\(name):\(port)" : endpoint
    }

    /// Whether a topic is another one with a suffix: `com.example.app.voip` besides `com.example.app`.
    private static func isSuffixed(_ topic: String, among all: Set<String>) -> Bool {
        PushType.all.values.contains { type in
            !type.suffix.isEmpty && topic.hasSuffix(type.suffix)
                && all.contains(String(topic.dropLast(type.suffix.count)))
        }
    }

    func certificate(_ host: Host) throws(PluginError) -> Certificate {
        try Self.certificate(path: path, hasPassword: hasPassword, host: host)
    }

    private static func certificate(
        path: String, hasPassword: Bool, host: Host
    ) throws(PluginError) -> Certificate {
        do throws(PluginError) {
            return try host.certificate(
                path + "certificate", password: hasPassword ? path + "certificate_password" : "")
        } catch {
            throw PluginError(.invalid, "config.\(path)certificate: \(error.message)")
        }
    }

    /// The topics in Apple's extension; older certificates have theirs in the subject's UID.
    static func topics(of certificate: Certificate) -> [String] {
        for one in certificate.extensions where one.oid == "1.2.840.113635.100.6.3.6" {
            let names = DER.texts(one.der)
            if !names.isEmpty { return names }
        }
        return certificate.userID.isEmpty ? [] : [certificate.userID]
    }

    func endpoint(_ config: Config) -> Endpoint {
        var endpoint = Endpoint(origin: origin)
        endpoint.caFile = config.caFile
        endpoint.isOneStreamFirst = usesToken
        endpoint.connectionsMax = config.connections
        endpoint.requestTimeoutMs = config.requestTimeoutMs
        endpoint.pingIdleMs = 60 * 60_000
        if !usesToken {
            endpoint.clientCertificate = path + "certificate"
            if hasKeyFile { endpoint.clientKey = path + "certificate_key" }
            if hasPassword { endpoint.clientPassword = path + "certificate_password" }
        }
        return endpoint
    }
}

/// A DER parser, sufficient for Apple's list of topics: `SEQUENCE { topic, SEQUENCE { kinds }, ... }`.
enum DER {
    /// The UTF-8 strings directly in the outermost sequence.
    static func texts(_ der: [UInt8]) -> [String] {
        guard let (tag, body, _) = element(der[...]), tag == 0x30 else { return [] }
        var out: [String] = []
        var rest = body
        while let (tag, inside, behind) = element(rest) {
            if tag == 0x0C { out.append(String(decoding: inside, as: UTF8.self)) }
            rest = behind
        }
        return out
    }

    private static func element(
        _ bytes: ArraySlice<UInt8>
    ) -> (tag: UInt8, body: ArraySlice<UInt8>, behind: ArraySlice<UInt8>)? {
        guard bytes.count >= 2 else { return nil }
        let tag = bytes[bytes.startIndex]
        var place = bytes.startIndex + 1
        var length = Int(bytes[place])
        place += 1
        if length >= 0x80 {
            let digits = length & 0x7F
            guard (1...3).contains(digits), bytes.endIndex - place >= digits else { return nil }
            length = bytes[place..<place + digits].reduce(0) { $0 << 8 | Int($1) }
            place += digits
        }
        guard bytes.endIndex - place >= length else { return nil }
        return (tag, bytes[place..<place + length], bytes[(place + length)...])
    }
}

/// The provider token: a signed JWT.
enum ProviderToken {
    static func make(_ account: Account, nowUnixMs: UInt64, host: Host) throws(PluginError)
        -> String
    {
        guard case .token(let teamID, let keyID) = account.login else { return "" }
        var header = JSONWriter()
        header.object { out in
            out.member("alg", "ES256")
            out.member("kid", keyID)
        }
        var claims = JSONWriter()
        claims.object { out in
            out.member("iss", teamID)
            out.key("iat")
            out.integer(nowUnixMs / 1000)
        }
        let text = Base64URL.encode(header.bytes) + "." + Base64URL.encode(claims.bytes)
        do throws(PluginError) {
            let signature = try host.sign(
                .es256, key: account.path + "key", data: Array(text.utf8))
            return text + "." + Base64URL.encode(signature)
        } catch {
            throw PluginError(
                .invalid, "config.\(account.path)key does not sign: \(error.message)")
        }
    }
}
