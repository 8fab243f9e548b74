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
            try options.joinSupervisor()
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
