import ArgumentParser
import Signalbox

/// Options that name a configuration and its plugins.
struct ConfigOptions: ParsableArguments {
    static let configName = "gateway.yaml"

    @Option(name: .shortAndLong, help: "Path of the configuration.")
    var config = configName

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
            throw ValidationError(
                "--listen must be host:port, such as 127.0.0.1:8080, or unix:/path")
        }
        try options.takeAdmin(admin)
        return options
    }
}
