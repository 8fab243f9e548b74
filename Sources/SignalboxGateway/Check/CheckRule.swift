internal import SignalboxConfig
internal import SignalboxCore
internal import SignalboxPluginHost

/// One kind of mistake in a configuration.
///
/// Rules check the file, what plugins declare, and this machine. What only running plugin instances can tell is checked
/// by `DryStart`.
struct CheckRule: Sendable {
    /// A problem and its position.
    struct Finding {
        var position: SourcePosition
        var message: String

        init(_ position: SourcePosition, _ message: String) {
            self.position = position
            self.message = message
        }
    }

    enum Kind: Sendable {
        /// The gateway cannot run with it.
        case fault
        /// The same, but depending on the machine the gateway runs on.
        case machineFault
        /// The gateway runs with it, but probably not as intended.
        case warning
        /// The same, but depending on the machine the gateway runs on.
        case machineWarning

        var isWarning: Bool { self == .warning || self == .machineWarning }
        var isOfMachine: Bool { self == .machineFault || self == .machineWarning }
    }

    /// Stable, and listed in docs/errors.md.
    let code: String
    let kind: Kind
    let find: @Sendable (CheckSubject) -> [Finding]

    init(_ kind: Kind, _ code: String, _ find: @escaping @Sendable (CheckSubject) -> [Finding]) {
        self.kind = kind
        self.code = code
        self.find = find
    }

    /// All rules. `check`, startup and reload apply the same ones.
    static let all =
        listeners + stores + places + people + routes + slips + isolated + unused
}

/// The input of rules: the configuration as far as it could be read, and its plugins.
struct CheckSubject: Sendable {
    let config: GatewayConfig
    let plugins: [CheckedPlugin]
    let options: GatewayOptions

    /// Whether every route could be read, without which it is unknown what routes use.
    var hasAllRoutes: Bool {
        !config.routes.isEmpty && config.routes.count == config.given?["routes"]?.items.count
    }

    /// The data folder; nil if the store is elsewhere.
    var dataFolder: String? {
        config.gateway.store == nil && options.store == nil ? config.dataPath : nil
    }

    func plugin(_ name: String) -> CheckedPlugin? { plugins.first { $0.name == name } }

    /// Why a file cannot be read; nil if it can.
    func fault(ofFile path: String) -> String? {
        switch options.environment.readFile(path) {
        case .success: nil
        case .failure(let fault): fault.words
        }
    }
}
