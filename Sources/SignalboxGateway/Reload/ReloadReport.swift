/// What a reload changed, or would change.
public struct ReloadReport: Sendable {
    /// Names of one kind, each list in order.
    public struct Names: Sendable {
        /// New ones.
        public let added: [String]
        /// Those only the previous configuration had.
        public let removed: [String]
        /// Those both have, with different content.
        public let changed: [String]
        /// Unchanged ones.
        public let kept: [String]

        package init(from old: [String], to new: [String], isSame: (String) -> Bool) {
            let both = Set(old).intersection(new)
            added = Set(new).subtracting(both).sorted()
            removed = Set(old).subtracting(both).sorted()
            kept = both.filter(isSame).sorted()
            changed = both.subtracting(kept).sorted()
        }

        /// Whether anything differs.
        public var isChange: Bool { !(added + removed + changed).isEmpty }
    }

    /// Routes.
    public let routes: Names
    /// Plugin instances; those that changed were replaced.
    public let plugins: Names
    /// Keys of `gateway:`, and the sections `devices` and `outcomes`, whose new value is in effect.
    public let settings: [String]
    /// Keys of `gateway:` that differ from those the gateway was started with and take effect only after a restart.
    public let needRestart: [String]
    /// Previous instances that did not stop in time.
    public var leftBehind: [String] = []
    /// Settings that are probably a mistake.
    public let warnings: [String]
    /// Whether nothing was changed, and this is what a reload would do.
    public var isCheck = false

    package init(_ change: PlanChange, _ plan: GatewayPlan) {
        routes = change.routes
        plugins = change.plugins
        settings = change.settings
        needRestart = change.needRestart
        warnings = plan.warnings.map { "\($0)" }
    }

    /// Plugin instances that were replaced, added or removed.
    public var changed: [String] { (plugins.added + plugins.removed + plugins.changed).sorted() }
    /// Routes and plugins that only the previous configuration had, as `route "a"`: a truncated file may still be
    /// valid.
    public var removed: [String] {
        routes.removed.map { "route \"\($0)\"" } + plugins.removed.map { "plugin \"\($0)\"" }
    }
}
