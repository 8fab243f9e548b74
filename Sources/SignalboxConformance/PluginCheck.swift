internal import Glibc
internal import SignalboxCore
internal import SignalboxJSON
internal import SignalboxPluginHost

/// What to check, and with which inputs.
public struct PluginCheckOptions: Sendable {
    /// The path of the library.
    public var file: String
    /// The config as JSON; if nil, one is made up from the schema.
    public var config: String?
    /// Secrets by the path of their key: `key`, `apps.0.key`.
    public var secrets: [(name: String, value: [UInt8])] = []
    /// Requests, events, devices and answers to check with, as JSON.
    public var samples: String?
    /// Sections of rules to check, such as `ingest`; empty: all.
    public var only: [String] = []
    /// Whether to look for lost or misused memory, if a tool for it is installed.
    public var checksMemory = true

    /// Checks a library.
    public init(file: String) { self.file = file }
}

/// Why a check could not start.
public struct PluginCheckFault: Error, Sendable, CustomStringConvertible {
    /// A message for people.
    public let message: String
    /// The message.
    public var description: String { message }
}

/// The conformance suite for plugins: every rule of the contract that can be checked from outside.
///
/// The plugin runs in separate processes, so that a crash is a finding.
public enum PluginCheck {
    /// Checks a plugin; `command` runs this program so that it calls `examine`.
    public static func run(
        _ options: PluginCheckOptions, command: [String]
    ) throws(PluginCheckFault) -> CheckReport {
        guard let file = PluginSearchPath.absolute(options.file) else {
            throw PluginCheckFault(message: "there is no file \(options.file)")
        }
        var order = CheckOrder(file: file)
        if let config = options.config { order.config = try json(config, "the config") }
        if let samples = options.samples { order.samples = try json(samples, "the samples") }
        order.secrets = options.secrets
        let sections = Set(CheckRule.allCases.map(\.section))
        for name in options.only where !sections.contains(name) {
            let hint = Suggestion.hint(for: name, among: sections.sorted())
            throw PluginCheckFault(message: "there is no section \"\(name)\" of rules\(hint)")
        }
        order.only = options.only
        var supervisor = CheckSupervisor(order: order, command: command)
        let wantsMemory = options.only.isEmpty || options.only.contains("memory")
        supervisor.run(checksMemory: options.checksMemory && wantsMemory)
        return supervisor.report
    }

    /// Examines the plugin named by the order on standard input, in the process that `run` starts.
    public static func examine() {
        var text: [UInt8] = []
        var chunk = [UInt8](repeating: 0, count: 64 * 1024)
        while true {
            let count = read(STDIN_FILENO, &chunk, chunk.count)
            guard count > 0 else { break }
            text += chunk[..<count]
        }
        guard let order = CheckOrder(text) else { return }
        let missing = Confiner.enterExamination(isWatched: order.isLight || order.isSanitized) {
            // Heard once the refused call has returned, so it cannot say in which step.
            Findings.shared.fail(
                .lifeProcess, "it starts a process, which is refused with EAGAIN")
        }
        if let missing { Findings.shared.note(missing) }
        Examination(order).run(CheckSteps.all)
    }

    private static func json(
        _ text: String, _ what: String
    ) throws(PluginCheckFault) -> JSONValue {
        do throws(JSONFault) {
            let value = try JSONValue.parse(text)
            guard case .object = value else {
                throw JSONFault(message: "it must be an object")
            }
            return value
        } catch {
            throw PluginCheckFault(message: "\(what) cannot be read: \(error.message)")
        }
    }
}
