import ArgumentParser
import Glibc
import Signalbox
import SignalboxPostgres

/// `signalbox-bench`: measures parts of the gateway, and prints a line of JSON each time.
struct BenchCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "signalbox-bench", abstract: "Measures parts of the gateway, for Benchmarks/.",
        subcommands: [
            Keys.self, Store.self, Load.self, Backlog.self, Resume.self, Registry.self,
            LookUps.self, Sender.self, Events.self, Reload.self, Calls.self,
        ])

    /// The folder of the database.
    struct Folder: ParsableArguments {
        @Option(help: "A folder on the disk to measure.")
        var folder = "run/bench"

        @Option(help: "The address of a PostgreSQL database to measure in place of SQLite.")
        var postgres: String?

        var place: StoreBench.Place {
            get throws {
                if let postgres { return .postgres(try PostgresAddress(postgres)) }
                return .folder(folder)
            }
        }
    }

    struct Keys: ParsableCommand {
        @OptionGroup var at: Folder

        func run() throws {
            try BenchKeys.write(folder: at.folder)
            Output.figures([])
        }
    }

    struct Store: AsyncParsableCommand {
        @OptionGroup var at: Folder
        @Option var events = 300_000
        @Option var window = 4_000

        func run() async throws {
            let fsync = StoreBench.fsyncMs(folder: at.folder)
            let rate = try await StoreBench.throughput(
                at: try at.place, events: events, window: window)
            Output.figures([("fsync_ms", fsync), ("events_per_second", rate)])
        }
    }

    struct Load: AsyncParsableCommand {
        @Option(help: "The address of a PostgreSQL database.") var postgres: String
        @Option(help: "Events per second.") var rate = 1_000
        @Option var seconds = 60
        @Option(help: "The dedupe window, in seconds.") var dedupe: UInt64 = 600

        func run() async throws {
            let report = try await FleetLoad.run(
                address: postgres, rate: rate, seconds: seconds, dedupeMs: dedupe * 1_000)
            Output.figures([
                ("events", Double(report.events)), ("settled", Double(report.settled)),
                ("refused", Double(report.refused)),
            ])
        }
    }

    struct Backlog: AsyncParsableCommand {
        @OptionGroup var at: Folder
        @Option var deliveries = 1_000_000

        func run() async throws {
            try await StoreBench.fill(at: try at.place, deliveries: deliveries)
            Output.figures([])
        }
    }

    struct Resume: AsyncParsableCommand {
        @OptionGroup var at: Folder

        func run() async throws {
            let found = try await StoreBench.resume(at: try at.place)
            Output.figures([
                ("waiting", Double(found.waiting)), ("first_lease_ms", found.ms),
                ("resident_mib", found.residentMiB),
            ])
        }
    }

    struct Registry: AsyncParsableCommand {
        @OptionGroup var at: Folder
        @Option var devices = 10_000

        func run() async throws {
            try await StoreBench.register(at: try at.place, devices: devices)
            Output.figures([])
        }
    }

    struct LookUps: AsyncParsableCommand {
        @OptionGroup var at: Folder
        @Option var users = 10_000

        func run() async throws {
            let ms = try await StoreBench.lookUps(at: try at.place, users: users)
            Output.figures([("ms", ms)])
        }
    }

    struct Sender: AsyncParsableCommand {
        @OptionGroup var config: ConfigOptions
        @Option var count = 400_000
        @Option var perContent = 2

        func run() async throws {
            var options = try config.gatewayOptions()
            options.silence()
            let report = try await SenderBench.run(options, count: count, perContent: perContent)
            Output.figures([
                ("delivered", Double(report.delivered)), ("seconds", report.seconds),
            ])
        }
    }

    struct Events: AsyncParsableCommand {
        @OptionGroup var config: ConfigOptions
        @Option var count = 10_000
        @Option(help: "Instead of webhooks, one event for so many users of the registry.")
        var users: Int?

        func run() async throws {
            var options = try config.gatewayOptions()
            options.silence()
            let delivered =
                if let users { try await EventBench.fanOut(options, users: users) } else {
                    try await EventBench.webhooks(options, count: count)
                }
            Output.figures([("delivered", Double(delivered))])
        }
    }

    struct Reload: AsyncParsableCommand {
        @OptionGroup var config: ConfigOptions
        @OptionGroup var at: Folder
        @Option var count = 110

        func run() async throws {
            var options = try config.gatewayOptions()
            options.silence()
            let report = try await ReloadBench.run(
                options, names: ["Zendesk", "APNs", "FCM"], folder: at.folder + "/plugins",
                count: count)
            Output.figures([
                ("plugins", Double(report.instances)), ("p50_ms", report.p50Ms),
                ("kib_that_stay", report.residentKiB),
            ])
        }
    }

    struct Calls: AsyncParsableCommand {
        @OptionGroup var config: ConfigOptions
        @Option var deliveries = 50_000
        @Flag var isolated = false

        func run() async throws {
            let costs = try await CallBench.run(
                try config.gatewayOptions(), batches: [1, 16, 256, 512], deliveries: deliveries,
                isIsolated: isolated)
            Output.figures(costs.map { ("ns_at_\($0.batch)", $0.ns) })
        }
    }
}
