import SignalboxPluginKit

/// The `config:` of an instance.
struct Config: Sendable {
    static let schema = """
        {
          "type": "object",
          "emits": { "push.requested": ["*"] },
          "properties": {
            "path": {
              "type": "string", "pattern": "^/[!-~]+$", "minLength": 2, "maxLength": 512,
              "default": "/api/push",
              "description": "gorush's api.push_uri"
            },
            "status": {
              "type": "boolean", "default": true,
              "description": "false: only path is served, not /healthz, /version and gorush's other paths"
            },
            "max_notification": {
              "type": "integer", "minimum": 1, "maximum": 1000, "default": 100,
              "description": "gorush's core.max_notification"
            },
            "app": {
              "type": "string", "default": "", "maxLength": 255,
              "description": "app of pushes without topic; empty: the senders' default"
            },
            "user": { "type": "string", "pattern": "^[^:]*$", "default": "", "maxLength": 128 },
            "password": {
              "type": "string", "format": "secret", "minLength": 1,
              "description": "with user: HTTP Basic credentials of the callers"
            },
            "headers": {
              "type": "array", "maxItems": 4, "default": [],
              "description": "header fields that every caller sends",
              "items": {
                "type": "object", "required": ["name", "value"],
                "properties": {
                  "name": { "type": "string", "pattern": "^[A-Za-z][A-Za-z0-9-]{0,23}$" },
                  "value": { "type": "string", "format": "secret", "minLength": 1 }
                }
              }
            }
          }
        }
        """

    let path: String
    let hasStatus: Bool
    let notificationsMax: Int
    let app: String
    let user: String
    let hasPassword: Bool
    /// Names in lower case; the values are secrets.
    let headers: [(name: String, secret: String)]

    init(_ json: JSON) throws(PluginError) {
        path = json["path"]?.string ?? ""
        hasStatus = json["status"]?.boolean ?? true
        notificationsMax = Int(clamping: json["max_notification"]?.integer ?? 100)
        app = json["app"]?.string ?? ""
        user = json["user"]?.string ?? ""
        hasPassword = json["password"] != nil
        headers = (json["headers"]?.elements ?? []).enumerated().map { index, header in
            (header["name"]?.string?.lowercased() ?? "", "headers.\(index).value")
        }
        guard hasPassword == !user.isEmpty else {
            throw PluginError(.invalid, "give user and password, or neither")
        }
        guard !hasStatus || !Status.paths.contains(path) else {
            throw PluginError(.invalid, "path is one of the paths that status serves")
        }
    }

    /// Whether a caller must show anything; gorush itself asks for nothing.
    var isOpen: Bool { !hasPassword && headers.isEmpty }
}
