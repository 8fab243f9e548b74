internal import Glibc
internal import Signalbox
internal import SignalboxCore
internal import SignalboxPluginHost
internal import SignalboxThreads

/// A step of an examination; a crash costs the rest of this step and no other.
struct CheckStep: Sendable {
    let name: String
    /// The first of them is blamed for a crash.
    let rules: [CheckRule]
    var seconds: UInt64 = 10
    /// The role under examination; nil for any plugin.
    var role: String?
    let run: @Sendable (Examination) -> Void
}

/// The examination of one plugin in this process; another process watches how it ends.
///
/// `@unchecked Sendable`: it is set up before the steps, which run one after another.
final class Examination: @unchecked Sendable {
    let order: CheckOrder
    let samples: CheckSamples
    let services: OfflineServices
    let findings = Findings.shared
    /// Set by the step `load`.
    var plugin: LoadedPlugin?
    /// The events that the plugin's schema lists; nil if it lists none and may emit anything.
    private(set) lazy var emits = plugin?.library.descriptor.configSchema.flatMap {
        try? ConfigSchema.parse($0)
    }?.facts.emits
    /// Services of other authors that the plugin needs; without them no instance is created.
    var foreignNeeds: [String] {
        plugin?.library.descriptor.needs.filter { ContractID.isForeign($0) } ?? []
    }
    /// Set by the step that finds a config.
    var config: CheckedConfig?
    /// Set by the step `create`: without an instance nothing else can be examined.
    var canCreate = true
    private let factsBefore: ProcessFacts
    private var isLoaded = false

    /// Rules that any step can break.
    static let common: [CheckRule] = [
        .lifeProcess, .structsSize, .structsStride, .threadsServices, .threadsSinks, .threadsLate,
        .payloadsFit, .secretsLogs, .secretsWords,
    ]

    init(_ order: CheckOrder) {
        self.order = order
        samples = CheckSamples(order.samples)
        services = OfflineServices(
            answers: samples.answers, heldUnixMs: samples.nowUnixMs)
        // As a program that embeds the gateway may have it. What this process inherited, ignored or not, decides nothing.
        signal(SIGPIPE) { _ in }
        factsBefore = ProcessFacts()
    }

    /// An amount, or a smaller one if a tool slows everything down.
    func amount(_ full: Int, light: Int) -> Int { order.isLight ? light : full }

    /// Runs all steps that no earlier process has done.
    func run(_ steps: [CheckStep]) {
        for step in steps {
            let isDone = order.done.contains(step.name)
            // Every process needs these two.
            if isDone, step.name != "load", step.name != "config" { continue }
            findings.begin(step: step.name, ms: step.seconds * 1_000)
            run(step)
            scanLogs()
            findings.end(step: step.name)
        }
        for change in factsBefore.changes(to: ProcessFacts()) {
            findings.fail(.lifeProcess, change)
        }
        for rule in Self.common { findings.pass(rule) }
        findings.finish()
    }

    /// Whether the step was not asked for and no other step needs it.
    private func isLeftOut(_ step: CheckStep) -> Bool {
        let sections = Set(step.rules.map(\.section))
        return !order.only.isEmpty && sections.isDisjoint(with: order.only)
            && !["load", "config", "create"].contains(step.name)
    }

    private func run(_ step: CheckStep) {
        if isLeftOut(step) {
            for rule in step.rules { findings.leave(rule, "it was not asked for") }
            return
        }
        if let why = missing(step) {
            for rule in step.rules { findings.leave(rule, why) }
            return
        }
        if let role = step.role, let plugin, !plugin.has(role) {
            let name = role.split(separator: ".")[2].prefix { $0 != "/" }
            for rule in step.rules { findings.skip(rule, "the plugin has no role \(name)") }
            return
        }
        // Timing is meaningless under a tool that slows everything down.
        findings.examine(blocks: order.isLight ? nil : step.rules.first?.blocks)
        step.run(self)
        for rule in step.rules { findings.pass(rule) }
    }

    /// Why a step cannot run; nil if it can.
    private func missing(_ step: CheckStep) -> String? {
        if step.name == "load" { return nil }
        if plugin == nil { return "the plugin cannot be loaded" }
        if ["descriptor", "config"].contains(step.name) { return nil }
        if config == nil { return "there is no config for it" }
        if let service = foreignNeeds.first {
            return "it needs \(service), which this check does not offer"
        }
        return canCreate ? nil : "create() does not take the config"
    }

    private func scanLogs() {
        let confidential = Confidential(config: (config?.secrets ?? [:]).mapValues(\.bytes))
        for line in services.takeLines().map(\.text) {
            if let leak = confidential.leak(in: line) {
                findings.fail(.secretsLogs, "\(leak) is in the log line \"\(line.prefix(60))...\"")
            }
        }
    }
}
