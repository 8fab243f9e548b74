internal import SignalboxConfig
internal import SignalboxCore

/// What a reload keeps, replaces and leaves to a restart: decided before anything is touched.
struct PlanChange: Sendable {
    /// Instances whose library, config and secrets are unchanged; they keep running.
    let kept: Set<String>
    /// Instances that are replaced, added or removed, in order of their names.
    let changed: [String]
    /// Keys of `gateway:` that take effect only after a restart.
    let needRestart: [String]
    /// Routes and plugins that are no longer named, as `route "a"`: a file that was cut off may still be valid.
    let removed: [String]

    /// `started`: the settings that the process has started with, which stay in effect until it ends.
    init(from old: GatewayPlan, to new: GatewayPlan, started: GatewaySettings) {
        self.init(
            from: old.plugins.map(\.name), to: new.plugins.map(\.name),
            settings: (started, new.config.gateway),
            removed: Self.gone("route", old.routes.map(\.name), new.routes.map(\.name))
                + Self.gone("plugin", old.plugins.map(\.name), new.plugins.map(\.name))
        ) { name in
            guard let before = old.plugins.first(where: { $0.name == name }),
                let now = new.plugins.first(where: { $0.name == name })
            else { return false }
            return now.isSame(as: before)
        }
    }

    init(
        from old: [String], to new: [String], settings: (GatewaySettings, GatewaySettings),
        removed: [String] = [], isSame: (String) -> Bool
    ) {
        self.removed = removed
        kept = Set(old).intersection(new).filter(isSame)
        changed = Set(old + new).subtracting(kept).sorted()
        needRestart = Self.needRestart(settings.0, settings.1)
    }

    static func gone(_ kind: String, _ old: [String], _ new: [String]) -> [String] {
        Set(old).subtracting(new).sorted().map { "\(kind) \"\($0)\"" }
    }

    /// Whether a lane ends: its instance does.
    func retires(_ lane: LaneKey) -> Bool { !kept.contains(lane.sender) }

    private static func needRestart(_ old: GatewaySettings, _ new: GatewaySettings) -> [String] {
        var keys: [String] = []
        if old.name != new.name { keys.append("name") }
        if old.listen != new.listen { keys.append("listen") }
        if old.admin != new.admin { keys.append("admin") }
        if old.tls?.certificate != new.tls?.certificate || old.tls?.key != new.tls?.key
            || old.tls?.clientRoots != new.tls?.clientRoots
        {
            keys.append("tls")
        }
        if old.dataFolder != new.dataFolder { keys.append("data") }
        if old.store != new.store { keys.append("store") }
        if old.logLevel != new.logLevel || old.logFormat != new.logFormat
            || old.logUsers != new.logUsers
        {
            keys.append("log")
        }
        return keys
    }
}
