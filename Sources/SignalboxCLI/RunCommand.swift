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
        // A start that waits for its store ends at once.
        StopSignals.endsAtOnce = true
        Gateway.raiseDescriptors()
        let gateway: Gateway
        do {
            var options = try config.gatewayOptions()
            try options.takeSockets()
            options.onStore = { StopSignals.endsAtOnce = false }
            gateway = try await Gateway.start(options)
        } catch {
            throw Exit.report(error)
        }
        StartPages.giveBack()
        await StopSignals.wait {
            // A failed reload is logged, and the current configuration stays.
            Task { _ = try? await gateway.reload() }
        }
        await gateway.stop()
    }
}

/// `signalbox check`.
struct CheckCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "check",
        abstract:
            "Loads a configuration with its plugins, reports every fault and warning; exits 78 on a fault."
    )

    @OptionGroup var config: ConfigOptions

    func run() async throws {
        let warnings: [String]
        do {
            warnings = try await Gateway.check(try config.gatewayOptions()).map { "\($0)" }
        } catch {
            throw Exit.report(error)
        }
        for warning in warnings { Output.error("warning: \(warning)") }
        let count =
            switch warnings.count {
            case 0: ""
            case 1: ", 1 warning"
            default: ", \(warnings.count) warnings"
            }
        Output.line("\(config.config): no faults\(count)")
    }
}
