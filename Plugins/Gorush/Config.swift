import SignalboxPluginKit

/// The `config:` of an instance.
struct Config: Sendable {
    static let schema = Keys.schema(#""emits": { "push.requested": ["*"] }"#) { try Config($0) }

    let path: String
    let hasStatus: Bool
    let notificationsMax: Int
    let app: String
    /// gorush itself asks for nothing.
    let caller: CallerCheck

    init(_ keys: Keys) throws(PluginError) {
        path = keys.webhookPath(default: "/api/push", "gorush's api.push_uri")
        hasStatus = keys.flag(
            "status", default: true,
            "false: only path is served, not /healthz, /version and gorush's other paths")
        notificationsMax = keys.number(
            "max_notification", 1...1000, default: 100, "gorush's core.max_notification")
        app = keys.app("app of pushes without topic; empty: the senders' default")
        caller = try keys.caller()
        guard !hasStatus || !Status.paths.contains(path) else {
            throw PluginError(.invalid, "path is one of the paths that status serves")
        }
    }
}
