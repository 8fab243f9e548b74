import ArgumentParser
import Signalbox
internal import SignalboxAdmin

/// Options that name a sender or a route.
struct PauseTarget: ParsableArguments {
    @Option(help: "The name of a sender under plugins.")
    var sender: String?

    @Option(help: "The name of a route.")
    var route: String?

    var isGiven: Bool { sender != nil || route != nil }

    func validate() throws {
        if sender != nil, route != nil { throw ValidationError("give either --sender or --route") }
    }
}

/// `signalbox pause`.
struct PauseCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "pause",
        abstract:
            "Lets the deliveries of a sender or a route wait; without either, lists what is paused.",
        discussion: """
            A pause outlives restarts and holds for all gateways that share a store. Deliveries still expire.
            """)

    @OptionGroup var running: RunningGateway
    @OptionGroup var named: PauseTarget

    @Option(help: "Why, for others to read.")
    var reason = ""

    func run() async throws {
        try await running.show { options in
            named.isGiven
                ? try await .pause(
                    sender: named.sender, route: named.route, reason: reason, options)
                : try await .paused(options)
        }
    }
}

/// `signalbox resume`.
struct ResumeCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "resume", abstract: "Sends the deliveries of a paused sender or route again.")

    @OptionGroup var running: RunningGateway
    @OptionGroup var named: PauseTarget

    func validate() throws {
        if !named.isGiven { throw ValidationError("give either --sender or --route") }
    }

    func run() async throws {
        try await running.show {
            try await .resume(sender: named.sender, route: named.route, $0)
        }
    }
}
