internal import SignalboxConfig
internal import SignalboxCore
internal import SignalboxPluginHost

/// One thing that a configuration can have wrong.
///
/// A rule of this kind looks at the file, at what plugins declare, and at this machine. What only instances of the
/// plugins can tell is found by `Rehearsal`.
struct CheckRule: Sendable {
    /// A place with what is wrong there.
    struct Finding {
        var position: SourcePosition
        var message: String

        init(_ position: SourcePosition, _ message: String) {
            self.position = position
            self.message = message
        }
    }

    enum Kind: Sendable {
        /// A gateway cannot run with it.
        case fault
        /// The same, and it depends on the machine that the gateway runs on.
        case machineFault
        /// A gateway runs with it, but probably not as meant.
        case warning
        /// The same, and it depends on the machine that the gateway runs on.
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

    /// All rules. `check`, a start and a reload apply the same ones.
    static let all =
        listeners + stores + places + people + routes + slips + isolated + unused
}

/// What rules look at: the configuration as far as it could be read, and its plugins.
struct CheckSubject: Sendable {
    let config: GatewayConfig
    let plugins: [CheckedPlugin]
    let options: GatewayOptions

    /// Whether every route could be read: only then it is known what no route uses.
    var hasAllRoutes: Bool {
        !config.routes.isEmpty && config.routes.count == config.given?["routes"]?.items.count
    }

    /// The data folder; nil: nothing is kept in one.
    var dataFolder: String? {
        config.gateway.store == nil && options.store == nil ? config.dataPath : nil
    }

    func plugin(_ name: String) -> CheckedPlugin? { plugins.first { $0.name == name } }

    /// Why a file cannot be read, as words; nil: it can.
    func fault(ofFile path: String) -> String? {
        switch options.environment.readFile(path) {
        case .success: nil
        case .failure(let fault): fault.words
        }
    }
}
