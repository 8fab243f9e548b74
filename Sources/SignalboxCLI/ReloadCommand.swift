import ArgumentParser
import Signalbox
internal import SignalboxAdmin

/// `signalbox reload`.
struct ReloadCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "reload",
        abstract: "Makes a running gateway apply its configuration, and says what changed.",
        discussion: """
            Asks the admin listener, and waits until replaced plugins have ended. Exits 78 if the \
            configuration has faults: then the gateway keeps the current one.
            """)

    @OptionGroup var running: RunningGateway

    @Flag(help: "Only says what a reload would change.")
    var check = false

    func run() async throws {
        try await running.ask { options in
            let done = try await ReloadTool.run(options, isCheck: check)
            return running.json ? done.json : done.text
        }
    }
}

/// Options that name a running gateway.
struct RunningGateway: ParsableArguments {
    @Option(name: .shortAndLong, help: "Path of the configuration.")
    var config = "gateway.yaml"

    @Option(help: "Asks the gateway whose admin listener is there: host:port.")
    var admin: String?

    @Flag(help: "Prints JSON.")
    var json = false

    /// Prints what the gateway has answered.
    func ask(_ body: (GatewayOptions) async throws -> String) async throws {
        var options = GatewayOptions(configPath: config)
        if let admin, !options.setAdmin(admin) {
            throw ValidationError(
                "--admin must be host:port, such as 127.0.0.1:8081, or unix:/path")
        }
        do {
            Output.line(try await body(options))
        } catch {
            throw Exit.report(error)
        }
    }
}
