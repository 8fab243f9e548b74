import SignalboxPluginKit

/// A set of credentials with the topics that it serves.
final class Account: Sendable {
    let keys: AppKeys
    let topic: String
    /// Bundle ids, without the suffixes of push types.
    let topics: Set<String>
    /// Topics that the certificate allows, with suffixes; empty if it does not list any.
    let allowed: Set<String>
    let origin: String
    /// Name of its provider token among the instance's credentials.
    let providerToken: String
    /// It is the one at the top level of the config.
    private let isFirst: Bool

    /// It signs tokens with a `.p8` key, and needs no client certificate.
    var usesToken: Bool { !keys.key.isEmpty }

    /// `place` is the path of its keys in the config: empty, or `apps.0`.
    init(
        _ keys: AppKeys, place: String, endpoint: String, port: Int, host: Host
    ) throws(PluginError) {
        func fault(_ words: String) -> PluginError {
            PluginError(.invalid, place.isEmpty ? words : "\(place): \(words)")
        }
        guard keys.key.isEmpty != keys.certificate.isEmpty else {
            throw fault(
                keys.key.isEmpty
                    ? "give key with key_id and team_id, or certificate"
                    : "give either key or certificate, not both")
        }
        self.keys = keys
        isFirst = place.isEmpty
        providerToken = "provider_token\(place.isEmpty ? "" : ".\(place)")"
        var topic = keys.topic
        var topics = Set(keys.topics)
        var allowed: Set<String> = []
        if !keys.key.isEmpty {
            guard !keys.teamID.isEmpty, !keys.keyID.isEmpty else {
                throw fault("a key needs key_id and team_id")
            }
            guard !topic.isEmpty else { throw fault("a key needs topic, the app's bundle id") }
        } else {
            let names = Self.topics(of: try Self.certificate(keys, host))
            allowed = Set(names)
            if topic.isEmpty { topic = names.first ?? "" }
            guard !topic.isEmpty else {
                throw fault("the certificate names no topic; give topic")
            }
            guard allowed.isEmpty || allowed.contains(topic) else {
                throw fault(
                    "the certificate is for \(names.joined(separator: ", ")), not \(topic)")
            }
            topics.formUnion(names.filter { !Self.isSuffixed($0, among: allowed) })
        }
        self.topic = topic
        self.topics = topics.union([topic])
        self.allowed = allowed
        let name = keys.isProduction ? "api.push.apple.com" : "api.sandbox.push.apple.com"
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
        try Self.certificate(keys, host)
    }

    private static func certificate(
        _ keys: AppKeys, _ host: Host
    ) throws(PluginError) -> Certificate {
        do throws(PluginError) {
            return try host.certificate(keys.certificate, password: keys.certificatePassword)
        } catch {
            throw PluginError(.invalid, "config.\(keys.certificate): \(error.message)")
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

    /// A new provider token.
    func token(_ host: Host) throws(PluginError) -> String {
        do throws(PluginError) {
            return try host.webToken(.es256, key: keys.key, type: "", keyID: keys.keyID) { out in
                out.member("iss", keys.teamID)
                out.member("iat", host.nowUnixMs / 1000)
            }
        } catch {
            throw PluginError(.invalid, "config.\(keys.key) does not sign: \(error.message)")
        }
    }

    func endpoint(_ config: Config) -> Endpoint {
        var endpoint = Endpoint(origin: origin, config.connections)
        // Apple wants a connection for each team; those of one certificate are equal in it, too.
        endpoint.isShared = isFirst || !usesToken
        endpoint.isOneStreamFirst = usesToken
        endpoint.pingIdleMs = 60 * 60_000
        if !usesToken {
            endpoint.clientCertificate = keys.certificate
            endpoint.clientKey = keys.certificateKey
            endpoint.clientPassword = keys.certificatePassword
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
