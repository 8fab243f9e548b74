import ArgumentParser
import Signalbox

/// `signalbox schema`.
struct SchemaCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "schema",
        abstract: "Prints the JSON Schema of gateway.yaml, for editors.",
        discussion: """
            It has every key with its meaning, and the config of each plugin in the plugin folders. Editors that \
            use yaml-language-server read it from a first line such as \
            `# yaml-language-server: $schema=gateway.schema.json`.
            """)

    @Option(help: "A folder with plugins; repeatable.")
    var pluginFolder: [String] = []

    @Flag(help: "Loads the plugins with all your rights, without a sandbox.")
    var trust = false

    func run() async throws {
        let tool = PluginTool(
            folders: pluginFolder, options: GatewayOptions(configPath: ""),
            command: PluginsCommand.inspection, isTrusted: trust)
        Output.line(tool.schema())
    }
}
