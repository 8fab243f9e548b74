import ArgumentParser
import Signalbox
internal import SignalboxAdmin

/// `signalbox fleet`.
struct FleetCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "fleet",
        abstract: "Shows the gateways that share a store, and what waits in it.",
        discussion: """
            Asks the admin listener of the configuration's gateway. If that gateway does not run, it reads \
            the store.
            """)

    @Option(name: .shortAndLong, help: "Path of the configuration.")
    var config = "gateway.yaml"

    @Option(help: "Asks the gateway whose admin listener is there: host:port.")
    var admin: String?

    @Flag(help: "Prints JSON.")
    var json = false

    func run() async throws {
        var options = GatewayOptions(configPath: config)
        if let admin, !options.setAdmin(admin) {
            throw ValidationError(
                "--admin must be host:port, such as 127.0.0.1:8081, or unix:/path")
        }
        do {
            let fleet = try await FleetTool.read(options)
            Output.line(json ? fleet.json : fleet.text)
        } catch {
            throw Exit.report(error)
        }
    }
}
