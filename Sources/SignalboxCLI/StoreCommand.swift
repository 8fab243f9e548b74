import ArgumentParser
import Signalbox

/// `signalbox store`.
struct StoreCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "store",
        abstract: "Looks at a store, makes its tables, copies it to another.",
        discussion: """
            STORE is a data folder (./data), the address of a database (postgres://USER@HOST/DATABASE), or a \
            gateway.yaml that names either. Keep passwords out of the command line: a gateway.yaml takes \
            them from ${env:NAME} or ${file:PATH}, and for an address without one libpq reads PGPASSWORD \
            or ~/.pgpass.
            """,
        subcommands: [Status.self, Migrate.self, Copy.self])

    /// `signalbox store status`.
    struct Status: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            commandName: "status",
            abstract: "Says what is in a store, and whether this program can use it.")

        @Argument(help: "A data folder, a database's address, or a gateway.yaml.")
        var store = "gateway.yaml"

        @Flag(help: "Prints JSON.")
        var json = false

        func run() async throws {
            try await reporting {
                Output.line(try await StoreTool.status(store, asJSON: json))
            }
        }
    }

    /// `signalbox store migrate`.
    struct Migrate: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            commandName: "migrate",
            abstract: "Makes the tables of a store.",
            discussion: """
                Gateways do this themselves when they start. Run it first if their database user may not \
                create tables.
                """)

        @Argument(help: "A data folder, a database's address, or a gateway.yaml.")
        var store = "gateway.yaml"

        func run() async throws {
            try await reporting {
                Output.line(
                    try await StoreTool.migrate(store) { Output.error("waiting for locks: \($0)") })
            }
        }
    }

    /// `signalbox store copy`.
    struct Copy: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            commandName: "copy",
            abstract: "Copies everything from a store that no gateway uses to an empty one.",
            discussion: """
                If it is interrupted, the same command continues where it stopped. Until it has finished, no \
                gateway starts on the target. Afterwards do not start one on the source: it would send the \
                waiting deliveries again.
                """)

        @Option(help: "A data folder, a database's address, or a gateway.yaml.")
        var from: String

        @Option(help: "The same; it must be empty, or hold the beginning of this copy.")
        var to: String

        func run() async throws {
            try await reporting {
                let copied = try await StoreTool.copy(
                    from: from, to: to,
                    waiting: {
                        Output.error("heard of just now, waiting for their end: \($0)")
                    }, progress: Self.show)
                for line in copied.lines { Output.line(line) }
                let words = "both stores have the same counts"
                Output.line(copied.wasFinished ? "an earlier copy was finished: \(words)" : words)
                if copied.waiting > 0 {
                    Output.error(
                        "do not start a gateway on \(copied.source) again: "
                            + "what waits there would be sent twice")
                }
                guard copied.damaged > 0 else { return }
                Output.error(
                    "\(copied.damaged) deliveries of \(copied.source) are damaged and were not "
                        + "copied")
                throw Exit.fault
            }
        }

        private static func show(_ progress: StoreTool.Progress) {
            guard progress.total > 0 else { return }
            let bar = ProgressBar(total: progress.total, of: progress.words)
            bar.show(progress.done)
            guard progress.isLast else { return }
            bar.end()
            if !bar.isShown { Output.error("copied \(progress.done) \(progress.words)") }
        }
    }

    private static func reporting(_ body: () async throws -> Void) async throws {
        do {
            try await body()
        } catch let code as ExitCode {
            throw code
        } catch {
            throw Exit.report(error)
        }
    }
}
