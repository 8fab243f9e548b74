internal import CSignalbox
internal import Glibc
internal import SignalboxPluginHost
internal import SignalboxThreads

/// The library, its entry and its descriptor.
enum LoadSteps {
    static let all = [
        CheckStep(
            name: "load",
            rules: [.entryLoads, .entryQuick, .entryEffects, .entryAgain], run: load),
        CheckStep(
            name: "descriptor",
            rules: [
                .descriptorTables, .descriptorID, .descriptorVersion, .descriptorSummary,
                .descriptorRoles, .descriptorNeeds,
            ], run: describe),
        CheckStep(name: "config", rules: [.configSchema, .configValues], run: findConfig),
    ]

    private static func load(_ exam: Examination) {
        let findings = exam.findings
        let (threads, files) = (ProcessCounts.threads, ProcessCounts.files)
        let facts = ProcessFacts()
        let began = SystemClock.monotonicNs
        do throws(LoadFault) {
            let image = try PluginImage.open(exam.order.file)
            let given = try image.ask()
            let tookMs = (SystemClock.monotonicNs - began) / 1_000_000
            // Timing is meaningless under a tool that slows everything down.
            if tookMs >= 1_000, !exam.order.isLight {
                findings.fail(.entryQuick, "they took \(tookMs) ms")
            }
            let more = ProcessCounts.threads.subtracting(threads)
            if !more.isEmpty { findings.fail(.entryEffects, "\(more.count) threads were started") }
            for (descriptor, target) in ProcessCounts.files where files[descriptor] == nil {
                findings.fail(.entryEffects, "descriptor \(descriptor) was opened: \(target)")
            }
            for change in facts.changes(to: ProcessFacts()) { findings.fail(.entryEffects, change) }
            let library = try PluginLibrary.accept(
                given, path: exam.order.file, alsoOffers: ContractID.isForeign)
            exam.plugin = LoadedPlugin(given: given, library: library)
            askAgain(image, given, findings)
        } catch {
            findings.fail(.entryLoads, "\(error.code): \(error.message)")
        }
        if let descriptor = exam.plugin?.library.descriptor {
            let roles = descriptor.roles.map { role in
                let parts = role.split(separator: ".")
                return parts.count > 2 ? String(parts[2].prefix { $0 != "/" }) : role
            }
            findings.about(
                "\(descriptor.id) \(descriptor.version) - \(descriptor.summary) "
                    + "(contract \(descriptor.abi); \(roles.joined(separator: ", ")))")
        }
    }

    private static func askAgain(
        _ image: PluginImage, _ first: UnsafePointer<sbx_plugin>, _ findings: Findings
    ) {
        for (minor, who) in [(SBX_ABI_MINOR, "the same host"), (SBX_ABI_MINOR + 1, "a newer host")]
        {
            findings.doing("calling the entry again")
            do throws(LoadFault) {
                if try image.ask(minor: minor) != first {
                    findings.fail(.entryAgain, "\(who) gets another table")
                }
            } catch {
                findings.fail(.entryAgain, "\(who) is refused: \(error.message)")
            }
        }
    }

    private static func describe(_ exam: Examination) {
        guard let plugin = exam.plugin else { return }
        let findings = exam.findings
        let descriptor = plugin.library.descriptor
        let parts = descriptor.id.split(separator: ".", omittingEmptySubsequences: false)
        let isDotted = parts.count > 1 && parts.allSatisfy(ContractID.isWord)
        if !isDotted || descriptor.id.utf8.count > 128 {
            findings.fail(.descriptorID, "it is \"\(descriptor.id.prefix(140))\"")
        }
        let core = descriptor.version.prefix { $0 != "-" && $0 != "+" }
        let numbers = core.split(separator: ".", omittingEmptySubsequences: false)
        if numbers.count != 3 || !numbers.allSatisfy({ UInt32($0) != nil }) {
            findings.fail(.descriptorVersion, "it is \"\(descriptor.version.prefix(80))\"")
        }
        let summary = descriptor.summary
        if summary.isEmpty || summary.count > 120 || summary.contains(where: \.isNewline) {
            findings.fail(.descriptorSummary, "it has \(summary.count) characters")
        }
        for role in descriptor.roles where !RoleTables.known.contains(role) {
            guard !ContractID.isForeign(role) else {
                findings.note("the role \(role) is not of this contract: it is not checked")
                continue
            }
            findings.fail(
                .descriptorRoles,
                "\"\(role)\" is not a role of contract 1.\(SBX_ABI_MINOR); one of your own is named "
                    + "like com.example.name/1 or draft/name/1")
        }
        for service in exam.foreignNeeds {
            findings.note("the service \(service) is not of this contract: it is not offered here")
        }
        for role in Set(descriptor.roles) where descriptor.roles.count(where: { $0 == role }) > 1 {
            findings.fail(.descriptorRoles, "\(role) is named more than once")
        }
        for service in Set(descriptor.needs)
        where descriptor.needs.count(where: { $0 == service }) > 1 {
            findings.fail(.descriptorNeeds, "\(service) is named more than once")
        }
        RoleTables.check(plugin, findings)
    }

    private static func findConfig(_ exam: Examination) {
        guard let plugin = exam.plugin else { return }
        let library = plugin.library
        let own = library.descriptor.configSchema.map { [$0] } ?? []
        for schema in own + library.optionsSchemas.values.sorted() {
            do throws(SchemaFault) {
                _ = try ConfigSchema.parse(schema)
            } catch {
                exam.findings.fail(.configSchema, error.message)
            }
        }
        guard !exam.findings.hasFailed(.configSchema) else {
            exam.findings.leave(.configValues, "the schema cannot be read")
            return
        }
        do throws(ConfigSource.Fault) {
            exam.config = try ConfigSource.config(
                exam.order, schema: plugin.library.descriptor.configSchema
            ).config
        } catch {
            for line in error.lines { exam.findings.fail(.configValues, line) }
            if exam.order.config == nil {
                exam.findings.fail(
                    .configValues,
                    "it was made up from the schema: give one with --config FILE.json")
            }
        }
    }
}
