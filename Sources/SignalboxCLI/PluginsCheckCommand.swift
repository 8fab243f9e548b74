import ArgumentParser
import SignalboxConformance

/// `signalbox plugins check`.
struct PluginsCheckCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "check",
        abstract: "Checks a plugin against the rules of the contract; exits 1 if one is broken.",
        discussion: "The rules and the samples are explained in docs/plugin-check.md.")

    @Argument(help: "The library.")
    var file: String

    @Option(help: "The plugin's config as JSON; - reads it from standard input.")
    var config: String?

    @Option(
        help: "A secret of the config, as NAME=VALUE or NAME=@FILE; repeatable.")
    var secret: [String] = []

    @Option(help: "Requests, events, devices and answers to check with, as JSON.")
    var samples: String?

    @Option(help: "Check only rules of these sections, separated by commas: life,ingest.")
    var only: String?

    @Flag(inversion: .prefixedNo, help: "Look for leaked and misused memory.")
    var memory = true

    @Flag(help: "JSON.")
    var json = false

    /// Runs this program again to load the library, so that a crash does not end this process.
    ///
    /// `Program` handles this command.
    static let examination = ["/proc/self/exe", "plugins", "examine"]

    func run() async throws {
        var options = PluginCheckOptions(file: file)
        options.config = try config.map { try text($0, "--config") }
        options.samples = try samples.map { try text($0, "--samples") }
        options.secrets = try secret.map(Self.secret)
        options.only = (only ?? "").split(separator: ",").map { String($0) }
        options.checksMemory = memory
        let report: CheckReport
        do throws(PluginCheckFault) {
            report = try PluginCheck.run(options, command: Self.examination)
        } catch {
            throw Exit.report(error)
        }
        if json {
            Output.line(report.jsonText)
        } else {
            for line in report.text { Output.line(line) }
        }
        if !report.isClean { throw Exit.fault }
    }

    private func text(_ path: String, _ option: String) throws -> String {
        String(decoding: try InputFile.read(path, option), as: UTF8.self)
    }

    private static func secret(_ given: String) throws -> (name: String, value: [UInt8]) {
        guard let equals = given.firstIndex(of: "="), equals > given.startIndex else {
            throw ValidationError("--secret must be NAME=VALUE or NAME=@FILE")
        }
        let value = given[given.index(after: equals)...]
        guard value.hasPrefix("@") else { return (String(given[..<equals]), Array(value.utf8)) }
        let bytes = try InputFile.read(String(value.dropFirst()), "--secret")
        return (String(given[..<equals]), bytes)
    }
}
