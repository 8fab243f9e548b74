import ArgumentParser
import Signalbox
internal import SignalboxAdmin

/// Options that name a sender or a route.
struct PauseTarget: ParsableArguments {
    @Option(help: "The name of a sender under plugins.")
    var sender: String?

    @Option(help: "The name of a route.")
    var route: String?

    func target() throws -> PauseTool.Target {
        switch (sender, route) {
        case (let name?, nil): return .sender(name)
        case (nil, let name?): return .route(name)
        default: throw ValidationError("give either --sender or --route")
        }
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
        let isList = named.sender == nil && named.route == nil
        let target = isList ? nil : try named.target()
        try await running.ask { options in
            guard let target else {
                let done = try await PauseTool.list(options)
                return running.json ? done.json : done.text
            }
            let done = try await PauseTool.pause(target, reason: reason, options)
            return running.json ? done.json : done.text
        }
    }
}

/// `signalbox resume`.
struct ResumeCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "resume", abstract: "Sends the deliveries of a paused sender or route again.")

    @OptionGroup var running: RunningGateway
    @OptionGroup var named: PauseTarget

    func run() async throws {
        let target = try named.target()
        try await running.ask { options in
            let done = try await PauseTool.resume(target, options)
            return running.json ? done.json : done.text
        }
    }
}
