import ArgumentParser
import Glibc
import Signalbox

/// The `signalbox` program.
struct SignalboxCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "signalbox",
        abstract: "A notification gateway: events in, pushes out, providers as plugins.",
        version: Gateway.version,
        subcommands: [
            RunCommand.self, CheckCommand.self, PluginsCommand.self, SimulateCommand.self,
            DemoCommand.self, DeadCommand.self,
        ])
}

/// Options that name a configuration and its plugins.
struct ConfigOptions: ParsableArguments {
    @Option(name: .shortAndLong, help: "Path of the configuration.")
    var config = "gateway.yaml"

    @Option(help: "A folder with plugins, searched first; repeatable.")
    var pluginFolder: [String] = []

    @Option(help: "Overrides gateway.listen, as host:port.")
    var listen: String?

    @Option(help: "Overrides gateway.admin, as host:port.")
    var admin: String?

    func gatewayOptions() throws -> GatewayOptions {
        var options = GatewayOptions(configPath: config)
        options.addPluginFolders(pluginFolder)
        options.setRunner(["/proc/self/exe"])
        if let listen, !options.setListen(listen) {
            throw ValidationError("--listen must be host:port, such as 127.0.0.1:8080")
        }
        if let admin, !options.setAdmin(admin) {
            throw ValidationError("--admin must be host:port, such as 127.0.0.1:8081")
        }
        return options
    }
}

/// How the program ends; the numbers are those of sysexits.h.
enum Exit {
    static let fault = ExitCode(1)
    static let config = ExitCode(78)

    /// Reports an error on standard error; the code to exit with.
    static func report(_ error: any Error) -> ExitCode {
        if let error = error as? ConfigurationError {
            for diagnostic in error.diagnostics { Output.error("\(diagnostic)") }
            let count = error.diagnostics.count
            Output.error(count == 1 ? "1 fault" : "\(count) faults")
            return config
        }
        Output.error("signalbox: \(error)")
        return fault
    }
}

/// Lines for people.
enum Output {
    static func line(_ text: String) { write(text, to: STDOUT_FILENO) }
    static func error(_ text: String) { write(text, to: STDERR_FILENO) }

    private static func write(_ text: String, to descriptor: Int32) {
        let bytes = Array((text + "\n").utf8)
        bytes.withUnsafeBytes { _ = Glibc.write(descriptor, $0.baseAddress, $0.count) }
    }
}
