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

    @OptionGroup var gateway: RunningGateway

    func run() async throws {
        try await gateway.show { try await .fleet($0) }
    }
}
