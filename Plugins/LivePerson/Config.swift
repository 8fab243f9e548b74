import SignalboxPluginKit

/// The `config:` of an instance.
struct Config: Sendable {
    /// The body as it came, and what every event has.
    private static let fields = """
        [
          "*", "lp.backendService", "lp.conversationId", "lp.dialogId", "lp.originatorId",
          "lp.brandId", "lp.sequence", "lp.id", "lp.badge", "lp.message"
        ]
        """
    static let schema = """
        {
          "type": "object",
          "emits": {
            "message.received": \(Self.fields), "proactive.received": \(Self.fields),
            "c2m.received": \(Self.fields)
          },
          "required": ["path"],
          "properties": {
            "path": {
              "type": "string", "pattern": "^/[!-~]+$", "minLength": 2, "maxLength": 512,
              "description": "the path of the push proxy, such as /in/liveperson"
            },
            "user": { "type": "string", "pattern": "^[^:]*$", "default": "", "maxLength": 128 },
            "password": {
              "type": "string", "format": "secret", "minLength": 1,
              "description": "with user: the proxy's HTTP Basic credentials"
            },
            "client_certificates": {
              "type": "array", "maxItems": 16, "default": [],
              "items": { "type": "string", "minLength": 3, "maxLength": 512 },
              "description": "subjects (CN=...) that mutual TLS may show; needs gateway.tls.client_ca"
            },
            "headers": {
              "type": "array", "maxItems": 4, "default": [],
              "description": "static header fields that the proxy sends",
              "items": {
                "type": "object", "required": ["name", "value"],
                "properties": {
                  "name": { "type": "string", "pattern": "^[A-Za-z][A-Za-z0-9-]{0,23}$" },
                  "value": { "type": "string", "format": "secret", "minLength": 1 }
                }
              }
            },
            "brand_id": {
              "type": "string", "default": "", "maxLength": 64,
              "description": "the account; pushes of others are refused. Empty: any"
            },
            "app": {
              "type": "string", "default": "", "maxLength": 255,
              "description": "app of the registry and of the senders; empty: their default"
            },
            "registration": {
              "type": "string", "enum": ["ignored", "required"], "default": "ignored",
              "description": "required: only tokens of the registry get pushes, others are answered 403"
            },
            "sound": { "type": "string", "default": "default", "maxLength": 128 }
          }
        }
        """

    let path: String
    let user: String
    let hasPassword: Bool
    let certificates: Set<String>
    /// Names in lower case; the values are secrets.
    let headers: [(name: String, secret: String)]
    let brandID: String
    let app: String
    let needsRegistration: Bool
    let sound: String

    init(_ json: JSON) throws(PluginError) {
        func text(_ key: String) -> String { json[key]?.string ?? "" }
        path = text("path")
        user = text("user")
        hasPassword = json["password"] != nil
        certificates = Set(json["client_certificates"]?.elements.compactMap(\.string) ?? [])
        headers = (json["headers"]?.elements ?? []).enumerated().map { index, header in
            (header["name"]?.string?.lowercased() ?? "", "headers.\(index).value")
        }
        brandID = text("brand_id")
        app = text("app")
        needsRegistration = text("registration") == "required"
        sound = text("sound")
        guard hasPassword == !user.isEmpty else {
            throw PluginError(.invalid, "give user and password, or neither")
        }
        guard hasPassword || !certificates.isEmpty || !headers.isEmpty else {
            throw PluginError(
                .invalid,
                "give user with password, client_certificates or headers: bodies bear no "
                    + "signature, so anybody could push")
        }
    }
}
