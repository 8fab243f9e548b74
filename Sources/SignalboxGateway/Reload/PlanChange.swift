internal import SignalboxConfig
internal import SignalboxCore

/// What a reload keeps, replaces and leaves for a restart, decided before anything is changed.
package struct PlanChange: Sendable {
    typealias Names = ReloadReport.Names

    /// Instances; those with the same library, config and secrets keep running.
    let plugins: Names
    let routes: Names
    /// Keys of `gateway:`, and sections of the file, that take effect with the reload.
    let settings: [String]
    /// Keys of `gateway:` that take effect only after a restart.
    let needRestart: [String]
    /// Instances that keep running.
    let kept: Set<String>

    /// `started`: the settings the process was started with, some of which stay in effect until it ends.
    init(from old: GatewayPlan, to new: GatewayPlan, started: GatewaySettings) {
        let plugins = Names(from: old.plugins.map(\.name), to: new.plugins.map(\.name)) { name in
            guard let before = old.plugins.first(where: { $0.name == name }),
                let now = new.plugins.first(where: { $0.name == name })
            else { return false }
            return now.isSame(as: before)
        }
        let texts = old.config.texts == new.config.texts
        let routes = Names(from: old.routes.map(\.name), to: new.routes.map(\.name)) { name in
            guard let before = old.config.routes.first(where: { $0.route.name == name }),
                let now = new.config.routes.first(where: { $0.route.name == name })
            else { return false }
            return texts && before.text == now.text
                && before.route.rules.retry == now.route.rules.retry
        }
        // Compares resolved values: a client's token may be in a file of its own.
        let sections = ["devices", "outcomes"].filter { section in
            old.config.given?[section]?.json != new.config.given?[section]?.json
        }
        self.init(
            plugins: plugins, routes: routes, sections: sections, from: old.config.gateway,
            to: new.config.gateway, started: started)
    }

    init(
        plugins: Names, routes: Names, sections: [String] = [], from before: GatewaySettings,
        to now: GatewaySettings, started: GatewaySettings
    ) {
        self.plugins = plugins
        self.routes = routes
        settings =
            Setting.all.filter { !$0.needsRestart && !$0.isSame(before, now) }.map(\.key) + sections
        needRestart = Setting.all.filter { $0.needsRestart && !$0.isSame(started, now) }
            .map(\.key)
        kept = Set(plugins.kept)
    }

    /// Whether a lane ends because its instance does.
    func retires(_ lane: LaneKey) -> Bool { !kept.contains(lane.sender) }
}

/// A key of `gateway:`.
struct Setting: Sendable {
    let key: String
    let needsRestart: Bool
    let isSame: @Sendable (GatewaySettings, GatewaySettings) -> Bool

    static let all: [Setting] = [
        restart("name") { $0.name == $1.name },
        restart("listen") { $0.listen == $1.listen },
        restart("admin") { $0.admin == $1.admin },
        restart("devices.listen") { $0.devicesListen == $1.devicesListen },
        restart("limits.connections") { $0.limits.connections == $1.limits.connections },
        restart("data") { $0.dataFolder == $1.dataFolder },
        restart("store") { $0.store == $1.store },
        restart("log") {
            $0.logFormat == $1.logFormat && $0.logUsers == $1.logUsers
        },
        at("tls") { $0.tls?.hasSameFiles(as: $1.tls) ?? ($1.tls == nil) },
        at("admin_token") { $0.adminToken == $1.adminToken },
        at("admin_hosts") { $0.adminHosts == $1.adminHosts },
        at("sources") { $0.sources == $1.sources },
        at("drain") { $0.drainMs == $1.drainMs },
        at("shutdown_delay") { $0.shutdownDelayMs == $1.shutdownDelayMs },
        at("dedupe") { $0.dedupeMs == $1.dedupeMs },
        at("history") { $0.history == $1.history },
        at("tracing") { $0.tracing == $1.tracing },
        at("dead") { $0.dead == $1.dead },
        at("watch") { $0.watch == $1.watch },
        at("limits") {
            $0.limits.clientRate == $1.limits.clientRate
                && $0.limits.sourceRate == $1.limits.sourceRate
                && $0.limits.codeRate == $1.limits.codeRate
                && $0.limits.userRate == $1.limits.userRate
                && $0.limits.devicesPerEvent == $1.limits.devicesPerEvent
        },
        at("log.level") { $0.logLevel == $1.logLevel },
        at("audit") { $0.auditFile == $1.auditFile },
    ]

    /// A setting read once, at startup.
    private static func restart(
        _ key: String, _ isSame: @escaping @Sendable (GatewaySettings, GatewaySettings) -> Bool
    ) -> Setting { Setting(key: key, needsRestart: true, isSame: isSame) }

    /// A setting that takes effect on reload.
    private static func at(
        _ key: String, _ isSame: @escaping @Sendable (GatewaySettings, GatewaySettings) -> Bool
    ) -> Setting { Setting(key: key, needsRestart: false, isSame: isSame) }
}

extension TLSSettings {
    fileprivate func hasSameFiles(as other: TLSSettings?) -> Bool {
        certificate == other?.certificate && key == other?.key && clientRoots == other?.clientRoots
    }
}
