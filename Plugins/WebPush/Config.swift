import SignalboxPluginKit

/// The `config:` of an instance.
struct Config: Sendable {
    static let schema = """
        {
          "type": "object", "family": "webpush", "required": ["key", "subject"],
          "properties": {
            "key": {
              "type": "string", "format": "secret", "minLength": 1,
              "description": "the VAPID key: a private P-256 key as PEM, such as ${file:secrets/vapid.pem}"
            },
            "subject": {
              "type": "string", "pattern": "^(mailto:.+@.+|https://.+)$",
              "description": "whom push services write to: mailto:ops@example.org, or a page"
            },
            "ca": {
              "type": "string", "format": "path", "default": "",
              "description": "PEM file of trusted roots instead of the system's"
            },
            "private_push_services": {
              "type": "boolean", "default": false,
              "description": "subscriptions may name push services on private networks"
            },
            "request_timeout_ms": {
              "type": "integer", "minimum": 100, "maximum": 60000, "default": 10000
            },
            "connections": {
              "type": "integer", "minimum": 1, "maximum": 1024, "default": 64,
              "description": "most requests at a time"
            }
          }
        }
        """

    let subject: String
    let caFile: String
    let allowsPrivateOrigins: Bool
    let connections: UInt32
    let requestTimeoutMs: UInt32

    init(_ json: JSON) throws(PluginError) {
        subject = json["subject"]?.string ?? ""
        caFile = json["ca"]?.string ?? ""
        allowsPrivateOrigins = json["private_push_services"]?.boolean ?? false
        connections = UInt32(clamping: json["connections"]?.integer ?? 64)
        requestTimeoutMs = UInt32(clamping: json["request_timeout_ms"]?.integer ?? 10_000)
    }
}
