import Foundation

/// make bench: takes every figure beside h2load in the same run.
@main struct Command {
    static let usage =
        "usage: bench SIGNALBOX [--json FILE] [--only NAME,NAME...] [--long | --short | --small] | --check FOLDER"

    var program = ""
    var json: String?
    var only: [String]?
    /// Compare instruction counts with this folder's thresholds, instead of taking times.
    var thresholds: String?
    /// Take the figures that need many minutes.
    var isLong = false
    /// Work is divided by this: little shows in seconds whether a ratio has become another one, and less that each
    /// measurement runs.
    var part = 1

    init(_ arguments: [String]) throws {
        var rest = arguments[...]
        while let word = rest.popFirst() {
            switch word {
            case "--long": isLong = true
            case "--short": part = 8
            case "--small": part = 50
            case "--check": thresholds = rest.popFirst()
            case "--json": json = rest.popFirst()
            case "--only": only = rest.popFirst()?.split(separator: ",").map(String.init)
            case _ where program.isEmpty && !word.hasPrefix("-"): program = word
            default: throw Failure(Self.usage)
            }
        }
        if program.isEmpty { throw Failure(Self.usage) }
    }

    /// Returns true if every condition that the figures depend on was met.
    func run() throws -> Bool {
        let own = URL(filePath: CommandLine.arguments[0]).deletingLastPathComponent()
        let bench = try Bench(
            signalbox: program, wire: own.appending(path: "wire").path, part: part)
        Output.line(Machine.words)
        if let thresholds {
            try bench.check(thresholds: thresholds)
            return bench.faults.isEmpty
        }
        let parts: [(name: String, run: () throws -> Void)] = [
            ("limit", bench.limits), ("sender", bench.sender), ("ingest", bench.ingest),
            ("store", bench.store), ("calls", bench.calls), ("end_to_end", bench.endToEnd),
            ("fan_out", bench.fanOut), ("memory", bench.memory), ("latency", bench.latency),
            ("routes", bench.routes), ("devices", { try bench.devices(isLong: isLong) }),
            ("senders", bench.senders), ("reload", bench.reload), ("postgres", bench.postgres),
        ]
        let names = parts.map(\.name)
        if let unknown = only?.first(where: { !names.contains($0) }) {
            throw Failure("there is no \(unknown); there are \(names.joined(separator: ", "))")
        }
        for part in parts where only?.contains(part.name) ?? true { try part.run() }
        if let json { try bench.json.write(toFile: json, atomically: true, encoding: .utf8) }
        return bench.faults.isEmpty
    }

    static func main() {
        signal(SIGPIPE, SIG_IGN)
        do {
            let isRight = try Command(Array(CommandLine.arguments.dropFirst())).run()
            exit(isRight ? 0 : 1)
        } catch {
            FileHandle.standardError.write(Data("bench: \(error)\n".utf8))
            exit(1)
        }
    }
}

/// Prints lines without buffering, also through a pipe.
enum Output {
    static func line(_ text: String) {
        FileHandle.standardOutput.write(Data((text + "\n").utf8))
    }
}
