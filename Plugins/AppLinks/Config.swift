import SignalboxPluginKit

/// The `config:` of an instance.
struct Config: Sendable {
    static let schema = Keys.schema { try Config($0) }

    /// Files by path.
    let files: [String: [UInt8]]

    init(_ keys: Keys) throws(PluginError) {
        let apple = try keys.list(
            "apple", count: ...100, "apps of /.well-known/apple-app-site-association"
        ) { keys in
            AppleApp(
                id: keys.text(
                    "app_id", pattern: "^[A-Z0-9]{10}[.][A-Za-z0-9.-]{1,200}$",
                    "team id and bundle id: TEAMID1234.com.example.app"),
                paths: keys.texts(
                    "paths", count: ...100, bytes: ...512, pattern: "^/",
                    "paths that the app opens, such as /support/*"),
                sharesCredentials: keys.flag("webcredentials"))
        }
        let isLegacy = keys.flag(
            "legacy", default: true, "write what iOS 12 and older read beside it")
        let android = try keys.list(
            "android", count: ...100, "apps of /.well-known/assetlinks.json"
        ) { keys in
            AndroidApp(
                package: keys.text("package", pattern: "^[A-Za-z0-9_]+([.][A-Za-z0-9_]+)+$"),
                fingerprints: keys.texts(
                    "fingerprints", count: 1...20, bytes: 95...95,
                    pattern: "^([0-9A-F][0-9A-F]:)+[0-9A-F][0-9A-F]$",
                    "SHA-256 of the signing certificate: AA:BB:..."))
        }
        var files: [String: [UInt8]] = [:]
        if !apple.isEmpty {
            files["/.well-known/apple-app-site-association"] = Files.apple(
                apple, isLegacy: isLegacy)
        }
        if !android.isEmpty { files["/.well-known/assetlinks.json"] = Files.android(android) }
        guard !files.isEmpty else { throw PluginError(.invalid, "give apple, android or both") }
        self.files = files
    }
}

struct AppleApp {
    let id: String
    let paths: [String]
    let sharesCredentials: Bool
}

struct AndroidApp {
    let package: String
    let fingerprints: [String]
}
