internal import SignalboxConfig
package import SignalboxCore
package import SignalboxHTTP
package import SignalboxPluginHost

/// The instances of a gateway with their roles.
package struct InstanceSet: Sendable {
    /// An instance that sends, through the gateway's connections or its own.
    package struct Sender: Sendable {
        var instance: any HostedInstance
        package var http: (any Translating)?
        package var own: (any Sending)?
        package var proxies: ProxyRules
    }

    /// An instance that takes reports about devices.
    package struct Reporter: Sendable {
        var instance: any HostedInstance
        var role: any Reporting
        var proxies: ProxyRules
    }

    /// The program that the plugins run in.
    package struct Program: Sendable {
        package var name: String
        package var version: String
        /// How plugins are run in processes of their own.
        var isolation: IsolationOptions

        package init(_ options: GatewayOptions) {
            (name, version) = options.program
            isolation = options.isolation
        }
    }

    package private(set) var instances: [any HostedInstance] = []
    package private(set) var filters: [String: any Filtering] = [:]
    package private(set) var builders: [String: any Building] = [:]
    package private(set) var senders: [String: Sender] = [:]
    package private(set) var reportRoles: [String: Reporter] = [:]
    package private(set) var paths = PathTable<any Ingesting>()
    /// Those that take webhooks, in instance order.
    package private(set) var ingesters: [any Ingesting] = []
    private(set) var observers: [String: any Observing] = [:]
    /// Those that receive events by themselves.
    package private(set) var sources: [any Sourcing] = []
    /// Names of the instances that serve paths.
    package var ingesting: Set<String> { Set(ingesters.map(\.instanceName)) }

    /// Creates all instances; those that cannot be created have a fault each.
    package static func create(
        _ plugins: [CheckedPlugin], program: Program,
        services: (CheckedPlugin) -> any HostServices
    ) async -> (set: InstanceSet, faults: [Diagnostic]) {
        var set = InstanceSet()
        var faults: [Diagnostic] = []
        for plugin in plugins {
            do throws(PluginFault) {
                set.instances.append(try await make(plugin, program, services(plugin)))
            } catch {
                let hasCrashed = plugin.settings.isIsolated && error.kind == .lost
                faults.append(
                    Diagnostic(
                        hasCrashed ? "plugin-crashes" : "plugin-refuses-config",
                        at: plugin.configPosition,
                        "plugin \"\(plugin.name)\" (\(plugin.library.descriptor.path)): "
                            + error.message))
            }
        }
        return (set, faults)
    }

    private static func make(
        _ plugin: CheckedPlugin, _ program: Program, _ services: any HostServices
    ) async throws(PluginFault) -> any HostedInstance {
        switch plugin.library {
        case .loaded(let library):
            try await PluginInstance.create(
                name: plugin.name, library: library, config: plugin.config,
                program: program.name, version: program.version, services: services)
        case .isolated(let library):
            try await IsolatedInstance.create(
                name: plugin.name, library: library.descriptor, config: plugin.config,
                program: program.name, version: program.version,
                confinement: library.confinement, options: program.isolation, services: services)
        }
    }

    /// Starts all instances except the kept ones, and asks all for their roles. None fetches credentials yet. Returns a
    /// fault for each that cannot start.
    package mutating func start(
        _ plugins: [CheckedPlugin], kept: [any HostedInstance] = [], limits: Limits
    ) async -> [Diagnostic] {
        var faults: [Diagnostic] = []
        for instance in instances + kept {
            guard let plugin = plugins.first(where: { $0.name == instance.name }) else { continue }
            do throws(PluginFault) {
                if !kept.contains(where: { $0 === instance }) {
                    try await instance.start(fetches: false)
                }
                let roles = try await instance.roles(limits: limits)
                if let role = roles.ingest {
                    try claim(role)
                    ingesters.append(role)
                }
                if let role = roles.source { sources.append(role) }
                filters[instance.name] = roles.filter
                builders[instance.name] = roles.build
                observers[instance.name] = roles.observe
                if let role = roles.register {
                    reportRoles[instance.name] = Reporter(
                        instance: instance, role: role, proxies: plugin.proxies)
                }
                if roles.sendHTTP != nil || roles.send != nil {
                    senders[instance.name] = Sender(
                        instance: instance, http: roles.sendHTTP, own: roles.send,
                        proxies: plugin.proxies)
                }
            } catch {
                faults.append(
                    Diagnostic(
                        "plugin-cannot-start", at: plugin.configPosition,
                        "plugin \"\(plugin.name)\": \(error.message)"))
            }
        }
        instances += kept
        return faults
    }

    /// Asks the senders that a route names, except the kept ones, where requests go. Returns a fault for each without a
    /// usable answer.
    package func endpointFaults(_ plan: GatewayPlan, kept: [String] = []) async -> [Diagnostic] {
        var faults: [Diagnostic] = []
        for name in Set(plan.routes.flatMap(\.senders.values)).sorted() {
            guard let role = senders[name]?.http, !kept.contains(name) else { continue }
            do {
                let endpoint = try await role.endpoint(app: "")
                if !endpoint.isREST { try PushEngine.check(try endpoint.pushEndpoint()) }
            } catch let fault as PluginFault where fault.kind == .notFound {
                // It has endpoints only per app.
            } catch let fault as PluginFault where fault.kind == .again {
                // It is restarting: only its lane waits.
            } catch {
                faults.append(plan.badEndpoint(name, error))
            }
        }
        return faults
    }

    private mutating func claim(_ role: any Ingesting) throws(PluginFault) {
        for path in role.paths {
            guard path.pattern.hasPrefix("/"), !path.methods.isEmpty else {
                throw PluginFault(
                    .invalid, "its path \"\(path.pattern)\" must begin with / and have a method")
            }
            // The path may be a secret, so it is not shown.
            guard path.pattern.utf8.allSatisfy({ $0 > 0x20 && $0 != 0x7F }),
                !path.pattern.contains("?"), !path.pattern.contains("#")
            else {
                throw PluginFault(
                    .invalid,
                    "its path has a space, or a query (?...) or fragment (#...), which no request's path has: "
                        + "leave it out")
            }
            guard let other = paths.add(pattern: path.pattern, methods: path.methods, owner: role)
            else { continue }
            throw PluginFault(
                .invalid,
                "its path \"\(path.pattern)\" is taken by plugin \"\(other.instanceName)\"; give each "
                    + "its own")
        }
    }

    /// Instances that want device changes and have an endpoint for them, with the kinds they want.
    package func reportKinds() async -> [String: Set<DeviceChange.Kind>] {
        var out: [String: Set<DeviceChange.Kind>] = [:]
        for (name, reporting) in reportRoles {
            let kinds = Set(DeviceChange.Kind.allCases.filter { reporting.role.wants($0) })
            guard !kinds.isEmpty else { continue }
            do throws(PluginFault) {
                _ = try await reporting.role.endpoint(app: "")
            } catch {
                // Without a default app, endpoints exist only per app.
                if error.kind == .unsupported || error.kind == .notFound { continue }
            }
            out[name] = kinds
        }
        return out
    }

    /// Stops and destroys all instances except the kept ones.
    package func stop(except kept: [any HostedInstance] = [], deadlineMs: UInt64) async {
        // In parallel, so that several hanging ones take no longer than one.
        await withTaskGroup(of: Void.self) { group in
            for instance in instances where !kept.contains(where: { $0 === instance }) {
                group.addTask { _ = await instance.stop(deadlineMs: deadlineMs) }
            }
        }
    }
}
