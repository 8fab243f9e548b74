internal import SignalboxCore
internal import SignalboxPluginHost
internal import SignalboxThreads

/// A part of an examination; a crash costs the rest of its step and no other.
struct CheckStep: Sendable {
    let name: String
    /// The first of them gets the blame for a crash.
    let rules: [CheckRule]
    var seconds: UInt64 = 10
    /// The role that it is about; nil: any plugin.
    var role: String?
    let run: @Sendable (Examination) -> Void
}

/// The examination of one plugin in this process, whose end is watched by another one.
///
/// `@unchecked Sendable`: it is set up before the steps, which run one after the other.
final class Examination: @unchecked Sendable {
    let order: CheckOrder
    let samples: CheckSamples
    let services: CheckServices
    let findings = Findings.shared
    /// Set by the step that loads.
    var plugin: LoadedPlugin?
    /// Set by the step that finds one.
    var config: CheckedConfig?
    /// Set by the step that creates: nothing else can be examined without an instance.
    var canCreate = true
    private let factsBefore: ProcessFacts
    private var isLoaded = false

    /// Rules that every step can break.
    static let common: [CheckRule] = [
        .lifeProcess, .structsSize, .structsStride, .threadsServices, .threadsSinks, .threadsLate,
        .payloadsFit, .secretsLogs, .secretsWords,
    ]

    init(_ order: CheckOrder) {
        self.order = order
        samples = CheckSamples(order.samples)
        services = CheckServices(answers: samples.answers)
        factsBefore = ProcessFacts()
    }

    /// An amount, or a smaller one where everything is slow.
    func amount(_ full: Int, light: Int) -> Int { order.isLight ? light : full }

    /// Runs all steps that were not done before.
    func run(_ steps: [CheckStep]) {
        for step in steps {
            let isDone = order.done.contains(step.name)
            // Without these there is nothing to examine, so they are done in every process.
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

    /// Not asked for, and nothing that others need.
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
        step.run(self)
        for rule in step.rules { findings.pass(rule) }
    }

    /// Why a step cannot be run.
    private func missing(_ step: CheckStep) -> String? {
        if step.name == "load" { return nil }
        if plugin == nil { return "the plugin cannot be loaded" }
        if ["descriptor", "config"].contains(step.name) { return nil }
        if config == nil { return "there is no config for it" }
        return canCreate ? nil : "create() does not take the config"
    }

    private func scanLogs() {
        let confidential = Confidential(config: (config?.secrets ?? [:]).mapValues(\.bytes))
        for line in services.takeLines() {
            if let leak = confidential.leak(in: line) {
                findings.fail(.secretsLogs, "\(leak) is in the log line \"\(line.prefix(60))...\"")
            }
        }
    }
}
