package import SignalboxConfig
package import SignalboxCore
package import SignalboxHTTP
internal import SignalboxJSON
package import SignalboxPluginHost

/// A plugin whose library was found and whose config was checked against its schema.
package struct CheckedPlugin: Sendable {
    package var settings: PluginSettings
    package var library: PluginCode
    package var config: CheckedConfig
    /// What its schema says about events and payloads.
    package var facts: PluginFacts
    /// The config is valid and complete, so an instance can be made.
    package var isSound = true
    /// Which proxy its connections go through.
    package var proxies: ProxyRules

    package var name: String { settings.name }
    /// Types of events that its provider itself pushes to the devices it is told of.
    var providerPushes: [String] {
        facts.providerPushes.filter { settings.config?[$0.key] != nil }.flatMap(\.types)
    }
    /// Whether a device's token names a person, a chat or an audience.
    package func isAddress(_ device: Device) -> Bool {
        facts.addresses.contains { $0.covers(device, config: config.json) }
    }
    /// The config key it needs to report dead tokens of its events; nil if none is missing.
    package var missingForReports: String? {
        facts.reportsWith.flatMap { config.json[$0] == nil ? $0 : nil }
    }
    /// Whether the plugin receives events by itself.
    package var isSource: Bool { library.descriptor.roles.contains("sbx.role.source/1") }
    /// Whether it can be the source of events, through webhooks or by itself.
    package var isAnySource: Bool {
        isSource || library.descriptor.roles.contains("sbx.role.ingest/1")
    }
    /// Whether the plugin declares that its requests never become events.
    package var isMute: Bool { facts.emits?.isEmpty == true }

    /// Whether library, config and secrets are unchanged.
    func isSame(as other: CheckedPlugin) -> Bool {
        library.isSame(as: other.library) && config.json.text == other.config.json.text
            && config.secrets == other.config.secrets && proxies == other.proxies
    }

    /// Where faults of the config as a whole are reported.
    package var configPosition: SourcePosition { settings.config?.position ?? settings.position }
}

/// Loads libraries, checks configs against their schemas, and checks that plugins have the roles that routes need.
struct PluginCheck {
    private(set) var plugins: [CheckedPlugin] = []
    private(set) var diagnostics: [Diagnostic] = []
    private var libraries: [String: PluginLibrary] = [:]
    private var isolated: [Isolation: [String: IsolatedLibrary]] = [:]
    private let searchPath: PluginSearchPath
    private let linked: [String: PluginLibrary]
    private let isolation: IsolationOptions
    private let proxies: ProxyRules

    init(_ options: GatewayOptions) {
        proxies = ProxyRules(variables: options.environment.variables)
        searchPath = options.searchPath
        linked = options.linked
        isolation = options.isolation
    }

    mutating func load(_ settings: PluginSettings, folder: String) {
        guard !settings.library.isEmpty else { return }
        let owner = "plugin \"\(settings.name)\""
        do throws(LoadFault) {
            check(settings, try code(settings, folder, owner), owner, folder)
        } catch {
            let words =
                settings.isLibrarySecret
                ? error.message.replacing(
                    settings.library, with: "(the value of a variable or file)")
                : error.message
            diagnostics.append(
                Diagnostic(
                    error.code,
                    at: error.code == "plugin-no-sandbox"
                        ? settings.isolationPosition : settings.libraryPosition,
                    "\(owner): \(words)"))
        }
    }

    private mutating func code(
        _ settings: PluginSettings, _ folder: String, _ owner: String
    ) throws(LoadFault) -> PluginCode {
        if let library = linked[settings.library] {
            if settings.isIsolated {
                diagnostics.append(
                    Diagnostic(
                        "bad-value", at: settings.isolationPosition,
                        "\(owner): isolation must be none: the plugin is linked into the program"))
            }
            if settings.sha256 != nil {
                diagnostics.append(
                    Diagnostic(
                        "bad-value", at: settings.libraryPosition,
                        "\(owner): leave sha256 out: the plugin is linked into the program"))
            }
            return .loaded(library)
        }
        let path = try searchPath.resolve(settings.library, relativeTo: folder)
        // Isolated instances of one library share one inspection.
        if settings.isIsolated {
            let key = "\(path)\0\(settings.sha256 ?? "")"
            if let known = isolated[settings.isolation]?[key] { return .isolated(known) }
            let library = try IsolatedLibrary.inspect(
                path, confinement: settings.isolation == .sandbox ? .sandbox : .process,
                options: isolation, sha256: settings.sha256)
            isolated[settings.isolation, default: [:]][key] = library
            return .isolated(library)
        }
        let key = "\(path)\0\(settings.sha256 ?? "")"
        if let known = libraries[key] { return .loaded(known) }
        let library = try PluginLibrary.load(path, sha256: settings.sha256)
        libraries[key] = library
        return .loaded(library)
    }

    private mutating func check(
        _ settings: PluginSettings, _ library: PluginCode, _ owner: String, _ folder: String
    ) {
        let schema: ConfigSchema
        do throws(SchemaFault) {
            schema =
                try library.descriptor.configSchema.map { text throws(SchemaFault) in
                    try ConfigSchema.parse(text)
                } ?? .empty
        } catch {
            diagnostics.append(
                Diagnostic(
                    "plugin-malformed", at: settings.libraryPosition,
                    "\(owner): \(library.descriptor.path): \(error.message)"))
            return
        }
        let (config, faults) = schema.check(
            settings.config, at: settings.position, owner: owner, folder: folder)
        diagnostics += faults
        plugins.append(
            CheckedPlugin(
                settings: settings, library: library, config: config, facts: schema.facts,
                isSound: faults.isEmpty, proxies: proxies(settings, owner)))
    }

    private mutating func proxies(_ settings: PluginSettings, _ owner: String) -> ProxyRules {
        guard let text = settings.proxy else { return proxies }
        do throws(ProxyAddress.Fault) {
            return ProxyRules(only: try ProxyAddress(text))
        } catch {
            diagnostics.append(
                Diagnostic("bad-proxy", at: settings.proxyPosition, "\(owner): proxy: \(error)"))
            return proxies
        }
    }

    /// Checks a route against its plugins' roles, and adds the builder's options as JSON.
    mutating func check(_ settings: RouteSettings) -> Route {
        var route = settings.route
        let owner = "route \"\(route.name)\""
        for source in route.sources {
            let isMute = plugins.first { $0.name == source }?.isMute == true
            require(
                isMute ? [] : ["sbx.role.ingest/1", "sbx.role.source/1"], of: source,
                at: settings.sourcePositions[source] ?? settings.position,
                "\(owner): plugin \"\(source)\" "
                    + (isMute ? "emits no events" : "has neither an ingest nor a source role")
                    + ", so it cannot be used in from")
        }
        require(
            ["sbx.role.build/1"], of: route.builder, at: settings.builderPosition,
            "\(owner): plugin \"\(route.builder)\" has no build role; name another plugin in build.with"
        )
        for sender in Set(route.senders.values).sorted() {
            require(
                ["sbx.role.send-http/1", "sbx.role.send/1"], of: sender,
                at: settings.senderPositions[sender] ?? settings.position,
                "\(owner): plugin \"\(sender)\" has no send role, so it cannot be used in send")
        }
        let given = (settings.builderPosition, settings.builderOptions)
        route.builderOptions = options(
            "sbx.role.build/1", of: route.builder, given, "\(owner) build")
        for (index, given) in settings.filters.enumerated() {
            let (name, role) = (route.filters[index].instance, "sbx.role.filter/1")
            require(
                [role], of: name, at: given.position,
                "\(owner): plugin \"\(name)\" has no filter role, so it cannot be used in filter")
            route.filters[index].options = options(role, of: name, given, "\(owner) filter")
        }
        return route
    }

    /// Checks that the instances in `devices.report` can take reports.
    mutating func check(_ reports: [(instance: String, position: SourcePosition)]) {
        let role = "sbx.role.register/1"
        let able = plugins.filter { $0.library.descriptor.roles.contains(role) }.map(\.name)
        for (name, position) in reports {
            require(
                [role], of: name, at: position,
                "devices: plugin \"\(name)\" has no register role, so it cannot be used in report"
                    + Suggestion.hint(for: name, among: able))
        }
    }

    /// Checks that the instances in `outcomes` can take them.
    mutating func checkObservers(of config: GatewayConfig) {
        let role = "sbx.role.observe/1"
        let able = plugins.filter { $0.library.descriptor.roles.contains(role) }.map(\.name)
        let known = plugins.map(\.name)
        for item in config.given?["outcomes"]?.items ?? [] {
            guard let value = item["plugin"], let name = value.string else { continue }
            let owner = "outcomes \"\(item["name"]?.string ?? "")\""
            if !config.plugins.contains(where: { $0.name == name }) {
                diagnostics.append(
                    Diagnostic(
                        "unknown-plugin", at: value.position,
                        "\(owner): there is no plugin \"\(name)\""
                            + Suggestion.hint(for: name, among: known)))
            }
            require(
                [role], of: name, at: value.position,
                "\(owner): plugin \"\(name)\" has no observe role, so it cannot be used here"
                    + Suggestion.hint(for: name, among: able))
        }
    }

    /// The options a route passes to a role of a plugin, as JSON.
    private mutating func options(
        _ role: String, of name: String,
        _ given: (position: SourcePosition, options: ConfigValue?), _ owner: String
    ) -> JSONText {
        guard let plugin = plugins.first(where: { $0.name == name }) else { return "{}" }
        do throws(SchemaFault) {
            let schema =
                try plugin.library.optionsSchemas[role].map { text throws(SchemaFault) in
                    try ConfigSchema.parse(text)
                } ?? .empty
            let (config, faults) = schema.check(
                given.options, at: given.options?.position ?? given.position, owner: owner,
                root: "options")
            diagnostics += faults
            return JSONText(parsing: config.json.text)
        } catch {
            diagnostics.append(
                Diagnostic(
                    "plugin-malformed", at: given.position,
                    "\(owner): options of \"\(name)\": \(error.message)"))
            return "{}"
        }
    }

    private mutating func require(
        _ roles: Set<String>, of name: String, at position: SourcePosition, _ message: String
    ) {
        // A plugin that could not be loaded has a finding of its own.
        guard let plugin = plugins.first(where: { $0.name == name }),
            roles.isDisjoint(with: plugin.library.descriptor.roles)
        else { return }
        diagnostics.append(Diagnostic("missing-role", at: position, message))
    }
}
