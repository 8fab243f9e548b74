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
        try await running.show { try await .reload(isCheck: check, $0) }
    }
}
