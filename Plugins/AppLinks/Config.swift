import SignalboxPluginKit

/// The `config:` of an instance.
struct Config: Sendable {
    static let schema = """
        {
          "type": "object",
          "properties": {
            "apple": {
              "type": "array", "maxItems": 100, "default": [],
              "description": "apps of /.well-known/apple-app-site-association",
              "items": {
                "type": "object", "required": ["app_id"],
                "properties": {
                  "app_id": {
                    "type": "string", "pattern": "^[A-Z0-9]{10}[.][A-Za-z0-9.-]{1,200}$",
                    "description": "team id and bundle id: TEAMID1234.com.example.app"
                  },
                  "paths": {
                    "type": "array", "maxItems": 100, "default": [],
                    "items": { "type": "string", "pattern": "^/", "maxLength": 512 },
                    "description": "paths that the app opens, such as /support/*"
                  },
                  "webcredentials": { "type": "boolean", "default": false }
                }
              }
            },
            "legacy": {
              "type": "boolean", "default": true,
              "description": "write what iOS 12 and older read beside it"
            },
            "android": {
              "type": "array", "maxItems": 100, "default": [],
              "description": "apps of /.well-known/assetlinks.json",
              "items": {
                "type": "object", "required": ["package", "fingerprints"],
                "properties": {
                  "package": { "type": "string", "pattern": "^[A-Za-z0-9_]+([.][A-Za-z0-9_]+)+$" },
                  "fingerprints": {
                    "type": "array", "minItems": 1, "maxItems": 20,
                    "items": {
                      "type": "string", "pattern": "^([0-9A-F][0-9A-F]:)+[0-9A-F][0-9A-F]$",
                      "minLength": 95, "maxLength": 95
                    },
                    "description": "SHA-256 of the signing certificate: AA:BB:..."
                  }
                }
              }
            }
          }
        }
        """

    /// Files by path.
    let files: [String: [UInt8]]

    init(_ json: JSON) throws(PluginError) {
        var files: [String: [UInt8]] = [:]
        let apple = json["apple"]?.elements ?? []
        if !apple.isEmpty {
            files["/.well-known/apple-app-site-association"] = Files.apple(
                apple, isLegacy: json["legacy"]?.boolean ?? true)
        }
        let android = json["android"]?.elements ?? []
        if !android.isEmpty { files["/.well-known/assetlinks.json"] = Files.android(android) }
        guard !files.isEmpty else { throw PluginError(.invalid, "give apple, android or both") }
        self.files = files
    }
}
