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
            try await running.show { try await .waiting($0) }
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
            let chosen: AdminInput = [
                "sender": sender, "route": route, "user": user, "event": event,
                "older_than_ms": olderThanMs, "gone": gone, "all": all,
            ]
            guard chosen.gives(["sender", "route", "user", "event", "older_than_ms", "all"]) else {
                throw ValidationError(
                    "say which: --sender, --route, --user, --event, --older-than-ms or --all")
            }
            try await running.show { try await .cancel(chosen, $0) }
        }
    }
}
