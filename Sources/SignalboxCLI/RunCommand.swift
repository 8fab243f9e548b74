import ArgumentParser
import Signalbox

/// `signalbox run`.
struct RunCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "run",
        abstract: "Serves until SIGTERM or Ctrl-C, then drains and exits 0; SIGHUP reloads.")

    @OptionGroup var config: ConfigOptions

    func run() async throws {
        StopSignals.catchAll(andHangUp: true)
        Gateway.raiseDescriptors()
        let gateway: Gateway
        do {
            gateway = try await Gateway.start(try config.gatewayOptions())
        } catch {
            throw Exit.report(error)
        }
        StartPages.giveBack()
        await StopSignals.wait {
            // What is wrong with it stands in the log, and the configuration of before goes on.
            Task { _ = try? await gateway.reload() }
        }
        await gateway.stop()
    }
}

/// `signalbox check`.
struct CheckCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "check",
        abstract: "Loads a configuration with its plugins and reports every fault; exits 78 on one."
    )

    @OptionGroup var config: ConfigOptions

    func run() async throws {
        do {
            try await Gateway.check(try config.gatewayOptions())
        } catch {
            throw Exit.report(error)
        }
        Output.line("\(config.config): no faults")
    }
}
