import SignalboxPluginKit

/// The `config:` of an instance.
struct Config: Sendable {
    static let schema = """
        {
          "type": "object",
          "emits": { "event.received": ["*"], "counts.changed": ["*"] },
          "required": ["apps"],
          "properties": {
            "path": {
              "type": "string", "pattern": "^/[!-~]+$", "minLength": 2, "maxLength": 512,
              "default": "/_matrix/push/v1/notify",
              "description": "homeservers ask for /_matrix/push/v1/notify; another path is for a proxy"
            },
            "health": {
              "type": "string", "pattern": "^(/[!-~]+)?$", "maxLength": 512, "default": "/health",
              "description": "answered 200, as by sygnal; empty: not served"
            },
            "apps": {
              "type": "array", "minItems": 1, "maxItems": 1000,
              "description": "the app_id that apps give their pushers, and what it stands for",
              "items": {
                "type": "object", "required": ["app_id", "platform"],
                "properties": {
                  "app_id": {
                    "type": "string", "minLength": 1, "maxLength": 64,
                    "description": "com.example.app.ios; * stands for any text"
                  },
                  "platform": { "type": "string", "enum": ["ios", "android", "huawei"] },
                  "app": {
                    "type": "string", "default": "", "maxLength": 255,
                    "description": "app of the senders; empty: their default"
                  },
                  "pushkey": {
                    "type": "string", "enum": ["base64", "token"],
                    "description": "what a pushkey is; by default base64 for ios, else token"
                  }
                }
              }
            },
            "alert": {
              "type": "string", "enum": ["names", "texts"], "default": "names",
              "description": "on iOS: names of texts in the app, as sygnal sends them, or texts"
            },
            "badge": {
              "type": "boolean", "default": true,
              "description": "false: counts go to no device, as with sygnal's send_badge_counts"
            },
            "unknown_apps": {
              "type": "string", "enum": ["keep", "reject"], "default": "keep",
              "description": "reject: homeservers remove pushers of an app_id that apps lacks"
            }
          }
        }
        """

    /// An app_id, and what it stands for.
    struct App: Sendable {
        let pattern: String
        let platform: String
        let app: String
        /// Whether a pushkey is base64 of the token's bytes.
        let isBase64: Bool

        /// Whether the pattern matches, with `*` for any text.
        func matches(_ appID: String) -> Bool {
            let parts = pattern.split(separator: "*", omittingEmptySubsequences: false)
            guard parts.count > 1, let first = parts.first, let last = parts.last else {
                return appID == pattern
            }
            guard appID.hasPrefix(first), appID.hasSuffix(last),
                appID.utf8.count >= first.utf8.count + last.utf8.count
            else { return false }
            var rest = appID.dropFirst(first.count).dropLast(last.count)
            for part in parts.dropFirst().dropLast() where !part.isEmpty {
                guard let place = rest.firstRange(of: part) else { return false }
                rest = rest[place.upperBound...]
            }
            return true
        }
    }

    let path: String
    let health: String
    let apps: [App]
    let showsNames: Bool
    let hasBadge: Bool
    let rejectsUnknownApps: Bool

    init(_ json: JSON) throws(PluginError) {
        path = json["path"]?.string ?? ""
        health = json["health"]?.string ?? ""
        apps = (json["apps"]?.elements ?? []).map { app in
            let platform = app["platform"]?.string ?? ""
            let form = app["pushkey"]?.string ?? (platform == "ios" ? "base64" : "token")
            return App(
                pattern: app["app_id"]?.string ?? "", platform: platform,
                app: app["app"]?.string ?? "", isBase64: form == "base64")
        }
        showsNames = json["alert"]?.string != "texts"
        hasBadge = json["badge"]?.boolean ?? true
        rejectsUnknownApps = json["unknown_apps"]?.string == "reject"
        guard path != health else {
            throw PluginError(.invalid, "path and health are the same path")
        }
    }

    /// The app with this very app_id, else the first whose pattern matches.
    func app(_ appID: String) -> App? {
        apps.first { $0.pattern == appID } ?? apps.first { $0.matches(appID) }
    }
}
