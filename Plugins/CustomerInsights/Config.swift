import SignalboxPluginKit

/// The `config:` of an instance.
struct Config: Sendable {
    static let schema = """
        {
          "type": "object", "sharesTokens": true,
          "emits": {
            "registration.requested": [],
            "message.requested": [
              "title", "body", "imageUrl", "link", "originalLink", "trackingId"
            ]
          },
          "properties": {
            "server": {
              "type": "object", "required": ["org", "apps"],
              "description": "serves the device registration API in place of Customer Insights",
              "properties": {
                "base": {
                  "type": "string", "pattern": "^(/[!-~]+)?$", "default": "", "maxLength": 256,
                  "description": "path prefix of /api/v1.0/orgs/..."
                },
                "org": { "type": "string", "minLength": 1, "maxLength": 128 },
                "apps": {
                  "type": "array", "minItems": 1, "maxItems": 1000,
                  "items": {
                    "type": "object", "required": ["mobile_app_id", "api_token"],
                    "properties": {
                      "mobile_app_id": { "type": "string", "minLength": 1, "maxLength": 64 },
                      "api_token": { "type": "string", "format": "secret", "minLength": 8 },
                      "app": {
                        "type": "string", "default": "", "maxLength": 255,
                        "description": "app of the registry and of the senders; empty: their default"
                      }
                    }
                  }
                },
                "messages_path": {
                  "type": "string", "pattern": "^(/[!-~]+)?$", "default": "", "maxLength": 512,
                  "description": "takes messages for registered users; the gateway's own, empty: none"
                },
                "apns_token_max": {
                  "type": "integer", "minimum": 64, "maximum": 4096, "default": 200,
                  "description": "longer APNs tokens fail with DeviceTokenTooLong"
                },
                "signature": {
                  "type": "string", "enum": ["hex", "base64"], "default": "hex",
                  "description": "how the signature of a callback is written"
                },
                "callbacks_to_private": {
                  "type": "boolean", "default": false,
                  "description": "allow callback URLs on private and loopback addresses, and http"
                },
                "callback_timeout_ms": {
                  "type": "integer", "minimum": 100, "maximum": 60000, "default": 10000
                }
              }
            },
            "client": {
              "type": "object", "required": ["endpoint", "org", "apps"],
              "description": "forwards devices of the registry to a real Customer Insights org",
              "properties": {
                "endpoint": {
                  "type": "string", "format": "uri", "minLength": 8,
                  "description": "PublicEndpoint of the app's developer information"
                },
                "org": { "type": "string", "minLength": 1, "maxLength": 128 },
                "apps": {
                  "type": "array", "minItems": 1, "maxItems": 1000,
                  "items": {
                    "type": "object", "required": ["mobile_app_id", "api_token"],
                    "properties": {
                      "mobile_app_id": { "type": "string", "minLength": 1, "maxLength": 64 },
                      "api_token": { "type": "string", "format": "secret", "minLength": 1 },
                      "app": { "type": "string", "default": "", "maxLength": 255 }
                    }
                  }
                },
                "callback_url": {
                  "type": "string", "format": "uri", "default": "",
                  "description": "public URL of callback_path; empty: outcomes are asked for instead"
                },
                "callback_path": {
                  "type": "string", "pattern": "^(/[!-~]+)?$", "default": "", "maxLength": 256
                },
                "cleanup": {
                  "type": "string", "enum": ["array", "object"], "default": "array",
                  "description": "shape of cleanups: a batch, or one call per device"
                },
                "poll_ms": {
                  "type": "integer", "minimum": 10, "maximum": 3600000, "default": 5000,
                  "description": "how long to wait before asking for an outcome"
                },
                "pending_limit_ms": {
                  "type": "integer", "minimum": 100, "maximum": 604800000, "default": 21600000,
                  "description": "when a pending registration is given up"
                },
                "ca": { "type": "string", "format": "path", "default": "" }
              }
            },
            "ca": {
              "type": "string", "format": "path", "default": "",
              "description": "PEM file of trusted roots for callbacks instead of the system's"
            }
          }
        }
        """

    /// One mobile app with its token.
    struct App: Sendable {
        let mobileAppID: String
        /// Name of the secret with its ApiToken.
        let token: String
        /// Name of the app in the registry.
        let app: String
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

        func app(_ name: String) -> App? {
            apps.first { $0.app == name } ?? apps.first { $0.app.isEmpty }
        }
    }

    let server: Server?
    let client: Client?
    let caFile: String

    init(_ json: JSON) throws(PluginError) {
        caFile = json["ca"]?.string ?? ""
        server = try json["server"].map { json throws(PluginError) in try Self.server(json) }
        client = try json["client"].map { json throws(PluginError) in try Self.client(json) }
        guard server != nil || client != nil else {
            throw PluginError(.invalid, "give server, client or both")
        }
    }

    private static func apps(_ json: JSON, _ place: String) throws(PluginError) -> [App] {
        let apps = (json["apps"]?.elements ?? []).enumerated().map { index, app in
            App(
                mobileAppID: app["mobile_app_id"]?.string ?? "",
                token: "\(place).apps.\(index).api_token", app: app["app"]?.string ?? "")
        }
        guard Set(apps.map { $0.mobileAppID.lowercased() }).count == apps.count else {
            throw PluginError(.invalid, "\(place).apps names a mobile_app_id twice")
        }
        return apps
    }

    private static func server(_ json: JSON) throws(PluginError) -> Server {
        Server(
            base: json["base"]?.string ?? "", org: json["org"]?.string ?? "",
            apps: try apps(json, "server"), messagesPath: json["messages_path"]?.string ?? "",
            apnsTokenMax: Int(json["apns_token_max"]?.integer ?? 200),
            signsBase64: json["signature"]?.string == "base64",
            callsPrivate: json["callbacks_to_private"]?.boolean ?? false,
            callbackTimeoutMs: UInt32(clamping: json["callback_timeout_ms"]?.integer ?? 10_000))
    }

    private static func client(_ json: JSON) throws(PluginError) -> Client {
        // The dashboard shows the endpoint with or without a trailing slash.
        var endpoint = json["endpoint"]?.string ?? ""
        while endpoint.hasSuffix("/") { endpoint.removeLast() }
        let afterScheme = endpoint.split(
            separator: "/", maxSplits: 3, omittingEmptySubsequences: false)
        let path = afterScheme.count > 3 ? "/" + afterScheme[3] : ""
        let (url, callback) = (
            json["callback_url"]?.string ?? "", json["callback_path"]?.string ?? ""
        )
        guard url.isEmpty == callback.isEmpty else {
            throw PluginError(.invalid, "client: give callback_url and callback_path, or neither")
        }
        let org = PathSegment.encode(json["org"]?.string ?? "")
        return Client(
            origin: String(endpoint.dropLast(path.utf8.count)),
            prefix: "\(path)/api/v1.0/orgs/\(org)", apps: try apps(json, "client"),
            callbackURL: url.hasSuffix("/") ? String(url.dropLast()) : url, callbackPath: callback,
            cleansOneByOne: json["cleanup"]?.string == "object",
            pollMs: UInt64(clamping: json["poll_ms"]?.integer ?? 5_000),
            pendingLimitMs: UInt64(clamping: json["pending_limit_ms"]?.integer ?? 21_600_000),
            caFile: json["ca"]?.string ?? "")
    }
}
