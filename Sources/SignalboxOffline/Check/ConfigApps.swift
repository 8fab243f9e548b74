internal import SignalboxConfig
internal import SignalboxCore
internal import SignalboxGateway

extension GatewayConfig {
    /// An app and its position in the file.
    typealias NamedApp = (name: String, position: SourcePosition)

    /// The apps that devices belong to: of registry clients and users, of reports, and under a key `app` of plugins.
    var namedApps: [NamedApp] {
        let devices = given?["devices"]
        let people = [devices?["clients"], devices?["users"]].compactMap { $0 }.flatMap(\.items)
        let reports = (devices?["report"]?.entries ?? []).map { ($0.key, $0.keyPosition) }
        return (people + plugins.compactMap(\.config)).flatMap(Self.apps)
            + reports.filter { $0.0 != "*" }
    }

    private static func apps(in value: ConfigValue) -> [NamedApp] {
        switch value.kind {
        case .map(let entries):
            entries.flatMap { entry -> [NamedApp] in
                guard entry.key == "app", let name = entry.value.string else {
                    return apps(in: entry.value)
                }
                // Others are paths into an event.
                let isName =
                    !name.isEmpty && !entry.value.isSecret && !"/@.".contains(name.prefix(1))
                return isName ? [(name, entry.value.position)] : []
            }
        case .list(let items): items.flatMap(apps)
        default: []
        }
    }
}
