import ArgumentParser
import Signalbox
internal import SignalboxAdmin

/// `signalbox waiting`.
struct WaitingCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "waiting", abstract: "Shows what waits to be sent, and cancels it.",
        subcommands: [List.self, Cancel.self])

    /// `signalbox waiting list`.
    struct List: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            commandName: "list",
            abstract: "Counts what waits by sender and app, and lists the orders to cancel.")

        @OptionGroup var running: RunningGateway

        func run() async throws {
            try await running.ask { options in
                let found = try await WaitingTool.list(options)
                return running.json ? found.json : found.text
            }
        }
    }

    /// `signalbox waiting cancel`.
    struct Cancel: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            commandName: "cancel",
            abstract: "Ends what waits instead of sending it, for good.",
            discussion: """
                What is in flight cannot be called back; the answer says how much that is. Pause the sender or the \
                route first, so that nothing is sent while you look.
                """)

        @OptionGroup var running: RunningGateway

        @Option(help: "Only of this sender.")
        var sender: String?

        @Option(help: "Only of this route.")
        var route: String?

        @Option(help: "Only for this user.")
        var user: String?

        @Option(help: "Only of this event, by its id.")
        var event: UInt64?

        @Option(help: "Only what was received at least this long ago, in milliseconds.")
        var olderThanMs: UInt64?

        @Flag(help: "The sender or route is no longer in the configuration.")
        var gone = false

        @Flag(help: "Whatever waits.")
        var all = false

        func run() async throws {
            var selection = WaitingTool.Selection()
            selection.sender = sender
            selection.route = route
            selection.user = user
            selection.event = event
            selection.olderThanMs = olderThanMs
            selection.isGone = gone
            selection.isAll = all
            guard selection.isMeant else {
                throw ValidationError(
                    "say which: --sender, --route, --user, --event, --older-than-ms or --all")
            }
            let chosen = selection
            try await running.ask { options in
                let done = try await WaitingTool.cancel(chosen, options)
                return running.json ? done.json : done.text
            }
        }
    }
}
