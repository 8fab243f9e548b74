import SignalboxPluginKit

/// The `config:` of an instance.
struct Config: Sendable {
    static let schema = Keys.schema(
        #""emits": { "event.received": ["*"], "counts.changed": ["*"] }"#
    ) { try Config($0) }

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

    init(_ keys: Keys) throws(PluginError) {
        path = keys.webhookPath(
            default: "/_matrix/push/v1/notify",
            "homeservers ask for /_matrix/push/v1/notify; another path is for a proxy")
        health = keys.optionalPath(
            "health", default: "/health", "answered 200, as by sygnal; empty: not served")
        apps = try keys.list(
            "apps", count: 1...1000,
            "the app_id that apps give their pushers, and what it stands for"
        ) { keys in
            let id = keys.text(
                "app_id", bytes: 1...64, "com.example.app.ios; * stands for any text")
            let platform = keys.choice(
                "platform", ["ios", "android", "huawei"], isRequired: true)
            let app = keys.app("app of the senders; empty: their default")
            let form = keys.choice(
                "pushkey", ["base64", "token"], isOptional: true,
                "what a pushkey is; by default base64 for ios, else token")
            return App(
                pattern: id, platform: platform, app: app,
                isBase64: form == "base64" || form.isEmpty && platform == "ios")
        }
        let alert = keys.choice(
            "alert", ["names", "texts"],
            "on iOS: names of texts in the app, as sygnal sends them, or texts")
        showsNames = alert == "names"
        hasBadge = keys.flag(
            "badge", default: true,
            "false: counts go to no device, as with sygnal's send_badge_counts")
        let unknown = keys.choice(
            "unknown_apps", ["keep", "reject"],
            "reject: homeservers remove pushers of an app_id that apps lacks")
        rejectsUnknownApps = unknown == "reject"
        guard path != health else {
            throw PluginError(.invalid, "path and health are the same path")
        }
    }

    /// The app with this very app_id, else the first whose pattern matches.
    func app(_ appID: String) -> App? {
        apps.first { $0.pattern == appID } ?? apps.first { $0.matches(appID) }
    }
}
