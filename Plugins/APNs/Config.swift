import SignalboxPluginKit

/// The `config:` of an instance.
struct Config: Sendable {
    /// Keys of one app with its credentials: at the top level for one app, under `apps` for several.
    private static let credentialKeys = """
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
              "description": "client certificate instead of a key: a .p12 file, or a PEM chain"
            },
            "certificate_key": {
              "type": "string", "format": "secret", "minLength": 1,
              "description": "private key of a PEM certificate, unless it stands in the same file"
            },
            "certificate_password": {
              "type": "string", "format": "secret", "minLength": 1,
              "description": "password of the .p12 file or of the key"
            },
            "topic": {
              "type": "string", "pattern": "^[A-Za-z0-9.-]{0,255}$", "default": "",
              "description": "bundle id of the app; a certificate names its own"
            },
            "topics": {
              "type": "array", "maxItems": 400, "default": [],
              "items": { "type": "string", "pattern": "^[A-Za-z0-9.-]{1,255}$" },
              "description": "further bundle ids that the same key serves"
            },
            "channel_storage": {
              "type": "string", "enum": ["none", "most_recent"], "default": "none",
              "description": "message storage policy of the app's broadcast channels"
            },
            "environment": {
              "type": "string", "enum": ["production", "sandbox", "development"],
              "default": "production",
              "description": "sandbox and development are the same"
            }
        """

    static let schema = """
        {
          "type": "object", "family": "apns", "emits": {},
          "addresses": { "token": "^channel:|[^A-Za-z0-9_-]" },
          "payloadLimits": [
            { "bytes": 5120, "header": "apns-push-type", "value": "voip" }, { "bytes": 4096 }
          ],
          "properties": {
            \(credentialKeys),
            "apps": {
              "type": "array", "maxItems": 1000, "default": [],
              "description": "apps with credentials and connections of their own",
              "items": { "type": "object", "properties": { \(credentialKeys) } }
            },
            "channels": \(Channels.schema),
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

    /// In the file's order; the first is the default.
    let accounts: [Account]
    let channels: Channels?
    let caFile: String
    let connections: UInt32
    let requestTimeoutMs: UInt32
    let takesAnyToken: Bool

    init(_ json: JSON, host: Host) throws(PluginError) {
        let endpoint = json["endpoint"]?.string ?? ""
        let port = json["port"]?.integer ?? 443
        var accounts: [Account] = []
        let apps = json["apps"]?.elements ?? []
        if json["key"] != nil || json["certificate"] != nil || apps.isEmpty {
            accounts.append(
                try Account(json, path: "", endpoint: endpoint, port: port, host: host))
        }
        for (index, app) in apps.enumerated() {
            accounts.append(
                try Account(
                    app, path: "apps.\(index).", endpoint: endpoint, port: port, host: host))
        }
        var seen: Set<String> = []
        for account in accounts {
            for topic in account.topics where !seen.insert(topic).inserted {
                throw PluginError(.invalid, "the topic \(topic) is named twice")
            }
        }
        self.accounts = accounts
        channels = json["channels"].map { Channels($0) }
        caFile = json["ca"]?.string ?? ""
        connections = UInt32(clamping: json["connections"]?.integer ?? 2)
        requestTimeoutMs = UInt32(clamping: json["request_timeout_ms"]?.integer ?? 10_000)
        takesAnyToken = json["token_check"]?.string == "lenient"
    }

    /// The account for an app's pushes; an empty app means the default account.
    func account(for app: String) -> Account? {
        app.isEmpty ? accounts.first : accounts.first { $0.topics.contains(app) }
    }
}
