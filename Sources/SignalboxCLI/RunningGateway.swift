import ArgumentParser
import Signalbox
internal import SignalboxAdmin

/// Options that name a gateway.
struct GatewayLocation: ParsableArguments {
    @Option(name: .shortAndLong, help: "Path of the configuration.")
    var config = "gateway.yaml"

    @Option(help: "Asks the gateway whose admin listener is there: host:port.")
    var admin: String?

    func options() throws -> GatewayOptions {
        var options = GatewayOptions(configPath: config)
        try options.takeAdmin(admin)
        return options
    }
}

/// Options of a command that asks a running gateway.
struct RunningGateway: ParsableArguments {
    @OptionGroup var location: GatewayLocation

    @Flag(help: "Prints JSON.")
    var json = false

    /// Prints what the gateway has answered.
    func show(_ report: (GatewayOptions) async throws -> AdminReport) async throws {
        let options = try location.options()
        do {
            let report = try await report(options)
            Output.line(json ? report.json : report.text)
            if report.isEmpty { throw Exit.fault }
        } catch let code as ExitCode {
            throw code
        } catch {
            throw Exit.report(error)
        }
    }
}

extension GatewayOptions {
    /// Sets the option --admin, if it is given.
    mutating func takeAdmin(_ address: String?) throws {
        guard let address, !setAdmin(address) else { return }
        throw ValidationError("--admin must be host:port, such as 127.0.0.1:8081, or unix:/path")
    }
}
