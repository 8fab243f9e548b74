import SignalboxPluginKit

/// The `config:` of an instance.
struct Config: Sendable {
    static let schema = """
        {
          "type": "object",
          "required": ["topic"],
          "properties": {
            "team_id": {
              "type": "string", "pattern": "^[A-Za-z0-9]{1,32}$", "default": "",
              "description": "Apple's team id, 10 letters and digits"
            },
            "key_id": {
              "type": "string", "pattern": "^[A-Za-z0-9]{1,32}$", "default": "",
              "description": "id of the .p8 key, 10 letters and digits"
            },
            "key": {
              "type": "string", "format": "secret", "minLength": 1,
              "description": "the .p8 key, such as ${file:secrets/apns.p8}"
            },
            "certificate": {
              "type": "string", "format": "secret", "minLength": 1,
              "description": "client certificate chain in PEM form, instead of a key"
            },
            "certificate_key": {
              "type": "string", "format": "secret", "minLength": 1,
              "description": "private key of the client certificate in PEM form"
            },
            "topic": {
              "type": "string", "pattern": "^[A-Za-z0-9.-]{1,255}$",
              "description": "bundle id of the app"
            },
            "topics": {
              "type": "array", "maxItems": 400, "default": [],
              "items": { "type": "string", "pattern": "^[A-Za-z0-9.-]{1,255}$" },
              "description": "further bundle ids that the same key serves"
            },
            "environment": {
              "type": "string", "enum": ["production", "sandbox"], "default": "production"
            },
            "port": { "type": "integer", "enum": [443, 2197], "default": 443 },
            "endpoint": {
              "type": "string", "format": "uri", "default": "",
              "description": "another origin than Apple's, such as https://127.0.0.1:2197"
            },
            "ca": {
              "type": "string", "format": "path", "default": "",
              "description": "PEM file of trusted roots instead of the system's"
            },
            "request_timeout_ms": {
              "type": "integer", "minimum": 100, "maximum": 60000, "default": 10000,
              "description": "how long a push may take from submit to answer"
            },
            "connections": { "type": "integer", "minimum": 1, "maximum": 64, "default": 2 },
            "token_check": {
              "type": "string", "enum": ["hex", "lenient"], "default": "hex",
              "description": "lenient takes tokens that are not hexadecimal, for simulators"
            }
          }
        }
        """

    let teamID: String
    let keyID: String
    let topic: String
    let topics: Set<String>
    let origin: String
    let caFile: String
    let connections: UInt32
    let requestTimeoutMs: UInt32
    /// Provider tokens; else a client certificate.
    let usesToken: Bool
    let takesAnyToken: Bool

    init(_ json: JSON) throws(PluginError) {
        let hasKey = json["key"] != nil
        let hasCertificate = json["certificate"] != nil && json["certificate_key"] != nil
        guard hasKey != hasCertificate else {
            throw PluginError(
                .invalid,
                hasKey
                    ? "give either key or certificate with certificate_key, not both"
                    : "give key with key_id and team_id, or certificate with certificate_key")
        }
        usesToken = hasKey
        teamID = json["team_id"]?.string ?? ""
        keyID = json["key_id"]?.string ?? ""
        guard !hasKey || !teamID.isEmpty && !keyID.isEmpty else {
            throw PluginError(.invalid, "a key needs key_id and team_id")
        }
        let topic = json["topic"]?.string ?? ""
        self.topic = topic
        topics = Set((json["topics"]?.elements.compactMap(\.string) ?? []) + [topic])
        let endpoint = json["endpoint"]?.string ?? ""
        let isSandbox = json["environment"]?.string == "sandbox"
        let name = isSandbox ? "api.sandbox.push.apple.com" : "api.push.apple.com"
        origin = endpoint.isEmpty ? "https://\(name):\(json["port"]?.integer ?? 443)" : endpoint
        caFile = json["ca"]?.string ?? ""
        connections = UInt32(clamping: json["connections"]?.integer ?? 2)
        requestTimeoutMs = UInt32(clamping: json["request_timeout_ms"]?.integer ?? 10_000)
        takesAnyToken = json["token_check"]?.string == "lenient"
    }

    /// Whether pushes for an app go out through this instance; empty: the default topic.
    func serves(_ app: String) -> Bool { app.isEmpty || topics.contains(app) }
}

/// The JWT that shows who we are.
enum ProviderToken {
    static func make(_ config: Config, nowUnixMs: UInt64, host: Host) throws(PluginError) -> String
    {
        var header = JSONWriter()
        header.object { out in
            out.member("alg", "ES256")
            out.member("kid", config.keyID)
        }
        var claims = JSONWriter()
        claims.object { out in
            out.member("iss", config.teamID)
            out.key("iat")
            out.integer(nowUnixMs / 1000)
        }
        let text = Base64URL.encode(header.bytes) + "." + Base64URL.encode(claims.bytes)
        do throws(PluginError) {
            let signature = try host.sign(.es256, key: "key", data: Array(text.utf8))
            return text + "." + Base64URL.encode(signature)
        } catch {
            throw PluginError(.invalid, "config.key does not sign: \(error.message)")
        }
    }
}
