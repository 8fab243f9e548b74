import ArgumentParser
import Glibc
import Signalbox

/// Why a measurement is impossible.
struct BenchFault: Error, CustomStringConvertible {
    let description: String
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
        // Isolated plugins run in the `signalbox` program, which is in the same folder.
        let own = CommandLine.arguments[0]
        let folder = own.lastIndex(of: "/").map { String(own[..<$0]) } ?? "."
        options.setRunner(["\(folder)/signalbox"])
        if let listen, !options.setListen(listen) {
            throw ValidationError("--listen must be host:port, such as 127.0.0.1:8080")
        }
        if let admin, !options.setAdmin(admin) {
            throw ValidationError("--admin must be host:port, such as 127.0.0.1:8081")
        }
        return options
    }
}

/// The output of a measurement.
enum Output {
    /// Prints numbers by name, as a line of JSON.
    static func figures(_ figures: [(name: String, value: Double)]) {
        let line = "{" + figures.map { "\"\($0.name)\":\($0.value)" }.joined(separator: ",") + "}\n"
        let bytes = Array(line.utf8)
        bytes.withUnsafeBytes { _ = Glibc.write(STDOUT_FILENO, $0.baseAddress, $0.count) }
    }
}
