import ArgumentParser
import Signalbox

/// `signalbox plugins`.
struct PluginsCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "plugins",
        abstract: "Inspects, checks and creates plugins.",
        subcommands: [
            NewCommand.self, ListCommand.self, InspectCommand.self, PluginsCheckCommand.self,
            DescribeCommand.self,
            RunIsolatedCommand.self,
        ])

    /// Runs this program again to inspect a library, so that a crash does not end this process.
    static let inspection = ["/proc/self/exe", "plugins", "describe"]

    /// Commands that run a plugin's code for a gateway.
    static let confined = [["plugins", "run-isolated"], ["plugins", "describe"]]

    /// `signalbox plugins list`.
    struct ListCommand: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            commandName: "list", abstract: "Lists the plugins in the plugin folders.")

        @Option(help: "A folder with plugins; repeatable.")
        var pluginFolder: [String] = []

        @Flag(help: "One line of JSON per plugin.")
        var json = false

        @Flag(help: "Loads them with all your rights, without a sandbox.")
        var trust = false

        func run() async throws {
            let tool = PluginTool(
                folders: pluginFolder, options: GatewayOptions(configPath: ""),
                command: PluginsCommand.inspection, isTrusted: trust)
            let findings = tool.list()
            for finding in findings {
                if json {
                    Output.line(finding.json)
                } else {
                    for line in finding.lines { Output.line(line) }
                }
            }
            if findings.isEmpty { Output.error("there is no plugin in the plugin folders") }
        }
    }

    /// `signalbox plugins inspect`.
    struct InspectCommand: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            commandName: "inspect",
            abstract: "Loads one plugin in a sandbox and prints what it declares.")

        @Argument(help: "A file, or a name as in library:.")
        var library: String

        @Option(help: "A folder with plugins; repeatable.")
        var pluginFolder: [String] = []

        @Flag(help: "JSON, with the config's schema.")
        var json = false

        @Flag(help: "Loads it with all your rights, without a sandbox.")
        var trust = false

        func run() async throws {
            let tool = PluginTool(
                folders: pluginFolder, options: GatewayOptions(configPath: ""),
                command: PluginsCommand.inspection, isTrusted: trust)
            let finding = tool.inspect(library)
            if json {
                Output.line(finding.json)
            } else {
                for line in finding.lines {
                    if finding.fault == nil { Output.line(line) } else { Output.error(line) }
                }
            }
            if finding.fault != nil { throw Exit.fault }
        }
    }

    /// The process of a plugin with `isolation: process` or `sandbox` runs this.
    struct RunIsolatedCommand: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            commandName: "run-isolated",
            abstract: "Runs one plugin for the gateway that started it.",
            shouldDisplay: false)

        @Argument(help: "The instance's name, as shown in process lists.") var name: String

        func run() async throws { await PluginTool.runIsolated() }
    }

    /// The child process of `inspect` runs this.
    struct DescribeCommand: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            commandName: "describe", abstract: "Loads one plugin in this process.",
            shouldDisplay: false)

        @Argument var file: String

        @Argument(help: "The SHA-256 that the file must have.") var sha256: String?

        func run() async throws { Output.line(PluginTool.describe(file, sha256: sha256)) }
    }
}
