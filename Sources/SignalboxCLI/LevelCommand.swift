import ArgumentParser
import Signalbox
internal import SignalboxAdmin

/// `signalbox log-level`.
struct LevelCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "log-level",
        abstract: "Says how much a running gateway logs, or changes it until the next start.")

    @OptionGroup var running: RunningGateway

    @Argument(help: "trace, debug, info, notice, warning or error.")
    var level: String?

    func run() async throws {
        try await running.show { try await .logLevel(level, $0) }
    }
}
