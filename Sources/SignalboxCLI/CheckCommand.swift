import ArgumentParser
import Signalbox

/// `signalbox check`.
struct CheckCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "check",
        abstract: "Reports every fault and warning of a configuration; exits 78 on a fault.",
        discussion: """
            Finds what a start would refuse, without running anything: it makes and starts the plugins \
            without network, and looks at files, addresses and the store. docs/errors.md explains the codes.
            """)

    @OptionGroup var config: ConfigOptions

    @Flag(help: "Warnings count as faults for the exit status.")
    var strict = false

    @Flag(
        name: .customLong("no-secrets"),
        help: "Variables and files may be missing; looks at nothing else of this machine, either.")
    var noSecrets = false

    @Flag(help: "Prints one JSON object.")
    var json = false

    @Flag(help: "Prints SARIF 2.1.0.")
    var sarif = false

    func validate() throws {
        if json, sarif { throw ValidationError("give --json or --sarif, not both") }
    }

    func run() async throws {
        var options = try config.gatewayOptions()
        options.hasSecrets = !noSecrets
        let report = await Gateway.examine(options)
        if json {
            Output.line(report.json)
        } else if sarif {
            Output.line(report.sarif)
        } else {
            show(report)
        }
        if !report.faults.isEmpty { throw report.isTemporary ? Exit.temporary : Exit.config }
        if strict, !report.warnings.isEmpty { throw Exit.config }
    }

    private func show(_ report: CheckReport) {
        for fault in report.faults { Output.error("\(fault)") }
        for warning in report.warnings { Output.error("warning: \(warning)") }
        for proxy in report.proxies { Output.line("proxy of \(proxy)") }
        func count(_ number: Int, _ word: String) -> String {
            "\(number == 0 ? "no" : "\(number)") \(word)\(number == 1 ? "" : "s")"
        }
        let warnings =
            report.warnings.isEmpty ? "" : ", \(count(report.warnings.count, "warning"))"
        if report.faults.isEmpty {
            Output.line("\(config.config): no faults\(warnings)")
        } else {
            Output.error("\(count(report.faults.count, "fault"))\(warnings)")
        }
    }
}
