import ArgumentParser
import Glibc
import Signalbox
internal import SignalboxAdmin

/// `signalbox dead`.
struct DeadCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "dead",
        abstract: "Manages dead letters: deliveries that failed for good.",
        discussion: """
            Works through the admin listener of a running gateway, and straight on the database of one \
            that is stopped. Creates no database.
            """,
        subcommands: [List.self, Show.self, Replay.self, Purge.self])

    /// Options that select dead letters.
    struct Selection: ParsableArguments {
        @OptionGroup var location: GatewayLocation

        @Option(help: "Reads this data folder, which no gateway uses, instead of a configuration.")
        var data: String?

        @Option(help: "Only of this sender.")
        var sender: String?

        @Option(help: "Only of this route.")
        var route: String?

        @Option(help: "Only with this reason.")
        var reason: String?

        @Option(help: "Only for this user.")
        var user: String?

        @Option(help: "Only for devices of this app.")
        var app: String?

        @Option(
            parsing: .unconditional,
            help: "Died before this: 10:30, 2026-01-02T10:30, 2h, 30m, or Unix milliseconds.",
            transform: PastTime.unixMs)
        var before: UInt64?

        @Option(
            parsing: .unconditional, help: "Died then or later; written as for --before.",
            transform: PastTime.unixMs)
        var since: UInt64?

        @Flag(help: "All of them.")
        var all = false

        @Argument(help: "Ids.")
        var ids: [UInt64] = []

        var chosen: AdminInput {
            [
                "ids": ids, "sender": sender, "route": route, "reason": reason, "user": user,
                "app": app, "before": before, "since": since, "all": all,
            ]
        }

        private func options() throws -> GatewayOptions {
            guard location.admin == nil || data == nil else {
                throw ValidationError("give either --admin or --data")
            }
            var options = try location.options()
            options.dataFolder = data
            return options
        }

        func run(_ body: (DeadLetterTool) async throws -> Void) async throws {
            do {
                let tool = try await DeadLetterTool.open(try options())
                do {
                    try await body(tool)
                    await tool.close()
                } catch {
                    await tool.close()
                    throw error
                }
            } catch let code as ExitCode {
                throw code
            } catch let error as ValidationError {
                throw error
            } catch {
                throw Exit.report(error)
            }
        }
    }

    /// `signalbox dead list`.
    struct List: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            commandName: "list",
            abstract: "Lists dead letters: time, id, sender, route, app, user, reason.")

        @OptionGroup var selection: Selection

        @Option(help: "Maximum number of lines.")
        var limit = 1_000

        @Flag(name: .long, help: "Only count them by sender and reason.")
        var count = false

        @Flag(help: "Prints a line of JSON each, with title, text and attempts.")
        var json = false

        func run() async throws {
            try await selection.run { tool in
                if count {
                    for line in try await tool.counts(selection.chosen) {
                        Output.line("\(line.count) \(line.sender) \(line.reason)")
                    }
                    return
                }
                for line in try await tool.list(
                    selection.chosen, limit: limit, asJSON: json)
                {
                    Output.line(line)
                }
                let count = try await tool.count(selection.chosen)
                Output.error(count == 1 ? "1 dead letter" : "\(count) dead letters")
            }
        }
    }

    /// `signalbox dead show`.
    struct Show: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            commandName: "show", abstract: "Shows one dead letter with its attempts, as JSON.")

        @OptionGroup var selection: Selection

        func run() async throws {
            guard let id = selection.ids.first, selection.ids.count == 1 else {
                throw ValidationError("give one id")
            }
            try await selection.run { tool in
                guard let line = try await tool.show(id) else {
                    Output.error("there is no dead letter \(id)")
                    throw Exit.fault
                }
                Output.line(line)
            }
        }
    }

    /// `signalbox dead replay`.
    struct Replay: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            commandName: "replay", abstract: "Sends dead letters again, with their original ids.")

        @OptionGroup var selection: Selection

        func run() async throws {
            try await work(selection, "sent again") { tool, chosen, progress in
                try await tool.replay(chosen, progress: progress)
            }
        }
    }

    /// `signalbox dead purge`.
    struct Purge: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            commandName: "purge", abstract: "Deletes dead letters.")

        @OptionGroup var selection: Selection

        func run() async throws {
            try await work(selection, "forgotten") { tool, chosen, progress in
                try await tool.purge(chosen, progress: progress)
            }
        }
    }

    private static func work(
        _ selection: Selection, _ verb: String,
        _ body: (DeadLetterTool, AdminInput, (Int) -> Void) async throws -> Int
    ) async throws {
        let chosen = selection.chosen
        guard chosen.selectsDeadLetters else {
            throw ValidationError(
                "say which: ids, --sender, --route, --reason, --user, --app, --before, --since or "
                    + "--all")
        }
        try await selection.run { tool in
            let total = try await tool.count(chosen)
            let bar = ProgressBar(total: total)
            let count = try await body(tool, chosen) { bar.show($0) }
            bar.end()
            Output.line("\(count) \(verb)")
        }
    }
}

/// Shows the progress of long work on a terminal.
struct ProgressBar {
    private let total: Int
    private let words: String
    /// Whether standard error is a terminal.
    let isShown = isatty(STDERR_FILENO) == 1

    /// `words`: what it counts.
    init(total: Int, of words: String = "") {
        self.total = total
        self.words = words.isEmpty ? "" : " \(words)"
    }

    func show(_ done: Int) {
        guard isShown, total > 0 else { return }
        let share = min(1, Double(done) / Double(total))
        let width = 40
        let full = Int(share * Double(width))
        let bar = String(repeating: "#", count: full) + String(repeating: ".", count: width - full)
        write("\r[\(bar)] \(Int(share * 100)) %  \(done) of \(total)\(words)")
    }

    func end() { if isShown, total > 0 { write("\n") } }

    private func write(_ text: String) {
        Array(text.utf8).withUnsafeBytes { bytes in
            _ = Glibc.write(STDERR_FILENO, bytes.baseAddress, bytes.count)
        }
    }
}
