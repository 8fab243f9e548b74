/// A plugin's library as a configuration knows it: loaded here, or looked at from afar because its code is
/// to run in a process of its own.
public enum PluginCode: Sendable {
    /// Its code runs here.
    case loaded(PluginLibrary)
    /// Its code runs in a process of its own, and never here.
    case isolated(IsolatedLibrary)

    /// What the plugin says of itself.
    public var descriptor: PluginDescriptor {
        switch self {
        case .loaded(let library): library.descriptor
        case .isolated(let library): library.descriptor
        }
    }

    /// The schema of a route's `build.options`; nil: it takes none, or does not build.
    public var buildOptionsSchema: String? {
        switch self {
        case .loaded(let library): library.buildOptionsSchema
        case .isolated(let library): library.buildOptionsSchema
        }
    }

    /// The same file as it was, to be run in the same way.
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
    /// What the plugin says of itself.
    public let descriptor: PluginDescriptor
    /// The schema of a route's `build.options`; nil: it takes none, or does not build.
    public let buildOptionsSchema: String?
    private let version: PluginFile.Version?

    /// Asks a library what it is, in a child process; one that crashes is a fault. It blocks.
    public static func inspect(
        _ path: String, options: IsolationOptions
    ) throws(LoadFault) -> IsolatedLibrary {
        guard !options.runner.isEmpty else {
            throw LoadFault(
                "plugin-no-runner",
                "\(path) is to run in a process of its own, and this program has not said which "
                    + "program runs it")
        }
        let version = PluginFile.Version(of: path)
        let (descriptor, schema) = try PluginInspector.look(at: path, command: options.inspector)
            .get()
        return IsolatedLibrary(
            descriptor: descriptor, buildOptionsSchema: schema, version: version)
    }
}
