import ArgumentParser
import Glibc
import Signalbox
import SignalboxTestKit

/// `signalbox bench`, for `make bench`.
struct BenchCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "bench", abstract: "Measures the durable queue on this machine.",
        shouldDisplay: false,
        subcommands: [
            Store.self, Backlog.self, Resume.self, Webhooks.self, Reload.self, Calls.self,
        ])

    /// Where the database is.
    struct Folder: ParsableArguments {
        @Option(help: "A folder on the disk to measure; removed beforehand.")
        var folder = "run/bench"
    }

    struct Store: AsyncParsableCommand {
        @OptionGroup var at: Folder
        @Option var events = 300_000

        func run() async throws {
            Folders.clear(at.folder)
            let fsync = StoreBench.fsyncMs(folder: at.folder)
            let rate = try await StoreBench.throughput(folder: at.folder, events: events)
            Output.line("fsync of this disk                 \(Figure.text(fsync)) ms (median)")
            Output.line("events appended and settled        \(Int(rate))/s (two deliveries each)")
        }
    }

    struct Backlog: AsyncParsableCommand {
        @OptionGroup var at: Folder
        @Option var deliveries = 1_000_000

        func run() async throws {
            Folders.clear(at.folder)
            try await StoreBench.fill(folder: at.folder, deliveries: deliveries)
        }
    }

    struct Resume: AsyncParsableCommand {
        @OptionGroup var at: Folder

        func run() async throws {
            let found = try await StoreBench.resume(folder: at.folder)
            Output.line(
                "restart with \(found.waiting) waiting   \(Figure.text(found.ms)) ms to the first lease"
            )
            Output.line("resident memory then               \(Figure.text(found.residentMiB)) MiB")
        }
    }

    struct Webhooks: AsyncParsableCommand {
        @OptionGroup var config: ConfigOptions
        @Option var rate = 1_000
        @Option var count = 10_000

        func run() async throws {
            var options = try config.gatewayOptions()
            options.silence()
            mkdir("run", 0o700)
            let fsync = StoreBench.fsyncMs(folder: "run/bench")
            let report = try await WebhookBench.run(options, perSecond: rate, count: count)
            Output.line(
                "webhooks at \(rate)/s                 p50 \(Figure.text(report.p50Ms)) ms, p99 "
                    + "\(Figure.text(report.p99Ms)) ms; fsync \(Figure.text(fsync)) ms")
            Output.line(
                "                                   \(report.answered) answered, \(report.pushed) pushed"
            )
        }
    }
}

extension BenchCommand {
    struct Reload: AsyncParsableCommand {
        @OptionGroup var config: ConfigOptions
        @Option var count = 110

        func run() async throws {
            var options = try config.gatewayOptions()
            options.silence()
            mkdir("run", 0o700)
            let report = try await ReloadBench.run(
                options, names: ["Zendesk", "APNs", "FCM"], folder: "run/bench-plugins",
                count: count)
            Output.line(
                "reload of \(report.instances) changed plugins        p50 "
                    + "\(Figure.text(report.p50Ms)) ms, "
                    + "\(Figure.text(report.residentKiB)) KiB stay per reload")
        }
    }
}

extension BenchCommand {
    struct Calls: AsyncParsableCommand {
        @OptionGroup var config: ConfigOptions
        @Option var deliveries = 50_000

        func run() async throws {
            let options = try config.gatewayOptions()
            let batches = [1, 16, 256, 512]
            let inside = try await CallBench.run(
                options, batches: batches, deliveries: deliveries, isIsolated: false)
            let apart = try await CallBench.run(
                options, batches: batches, deliveries: deliveries, isIsolated: true)
            for (near, far) in zip(inside, apart) {
                Output.line(
                    "plugin call, \(near.batch) at a time           "
                        + "\(Figure.text(near.ns / 1000)) us per delivery; isolated: "
                        + "\(Figure.text(far.ns / 1000)) us")
            }
        }
    }
}

private enum Figure {
    static func text(_ value: Double) -> String { "\((value * 100).rounded() / 100)" }
}

private enum Folders {
    /// Removes the files of a measurement of before.
    static func clear(_ folder: String) {
        mkdir("run", 0o700)
        mkdir(folder, 0o700)
        for name in ["signalbox.sqlite", "signalbox.sqlite-wal", "signalbox.sqlite-shm", "lock"] {
            unlink("\(folder)/\(name)")
        }
    }
}
