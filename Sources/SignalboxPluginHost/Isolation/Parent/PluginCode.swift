/// A plugin's library as a configuration uses it: loaded here, or only inspected because its code runs in
/// its own process.
public enum PluginCode: Sendable {
    /// Its code runs in this process.
    case loaded(PluginLibrary)
    /// Its code runs in its own process, never in this one.
    case isolated(IsolatedLibrary)

    /// What the plugin says about itself.
    public var descriptor: PluginDescriptor {
        switch self {
        case .loaded(let library): library.descriptor
        case .isolated(let library): library.descriptor
        }
    }

    /// The schemas of the options that routes give to its builder and its filter, by role.
    public var optionsSchemas: [String: String] {
        switch self {
        case .loaded(let library): library.optionsSchemas
        case .isolated(let library): library.optionsSchemas
        }
    }

    /// Whether both are the same unchanged file, run in the same way.
    public func isSame(as other: PluginCode) -> Bool {
        switch (self, other) {
        case (.loaded(let one), .loaded(let two)): one === two
        case (.isolated(let one), .isolated(let two)): one == two
        case (.loaded, .isolated), (.isolated, .loaded): false
        }
    }
}

/// A library that is not loaded in this process.
public struct IsolatedLibrary: Sendable, Equatable {
    /// What the plugin says about itself.
    public let descriptor: PluginDescriptor
    /// The schemas of the options that routes give to its builder and its filter, by role.
    public let optionsSchemas: [String: String]
    /// How far its process is confined.
    public let confinement: Confinement
    private let version: PluginFile.Version?

    /// Inspects a library in a child process; a crash there is a fault. Blocks.
    public static func inspect(
        _ path: String, confinement: Confinement = .process, options: IsolationOptions,
        sha256: String? = nil
    ) throws(LoadFault) -> IsolatedLibrary {
        guard !options.runner.isEmpty else {
            throw LoadFault(
                "plugin-no-runner",
                "\(path) is to run in its own process, but no runner program is set")
        }
        let version = PluginFile.Version(of: path)
        // A sandbox maps the file as it is, and knows no groups.
        if confinement == .sandbox { try FileRules.check(path) }
        var plan = ConfinementPlan()
        plan.confinement = confinement
        plan.library = path
        plan.omitted = options.omitted
        var (descriptor, schemas) = try PluginInspector.look(
            at: path, command: options.inspector, plan: plan, sha256: sha256
        ).get()
        descriptor.wantedSHA256 = sha256
        return IsolatedLibrary(
            descriptor: descriptor, optionsSchemas: schemas, confinement: confinement,
            version: version)
    }
}
