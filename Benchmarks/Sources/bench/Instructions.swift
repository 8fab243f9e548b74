import Foundation

/// Instructions per unit of work, counted by callgrind.
///
/// Unlike times they are nearly the same on every machine and in every run, so thresholds can be
/// enforced.
extension Bench {
    /// The counts. Each is the difference of two runs, which leaves out startup and shutdown.
    func instructions() throws -> [(name: String, count: Double)] {
        [
            ("sender_per_delivery", try perUnit(1_000, 4_000, senderRun)),
            ("webhook_per_event", try perUnit(200, 1_000) { try webhookRun($0) }),
            (
                "webhook_without_history",
                try perUnit(200, 1_000) { try webhookRun($0, keepsHistory: false) }
            ),
            ("fan_out_per_delivery", try perUnit(1_000, 5_000, fanOutRun)),
            ("store_per_event", try perUnit(500, 3_000, storeRun)),
            ("call_per_delivery", try perUnit(1_024, 5_120, callsRun)),
        ]
    }

    /// Compares the counts with the files of a folder: `NAME` holds the maximum.
    func check(thresholds folder: String) throws {
        for (name, count) in try instructions() {
            let file = "\(folder)/\(name)"
            let text = try? String(contentsOfFile: file, encoding: .utf8)
            guard
                let most = text.flatMap({
                    Double($0.trimmingCharacters(in: .whitespacesAndNewlines))
                })
            else {
                throw Failure(
                    "\(file) is not there, or is no number; this run counted \(Int(count))")
            }
            note(name, count, "instructions; at most \(Int(most))")
            require(
                count <= most,
                "\(name) takes \(Int(count)) instructions, more than \(Int(most)): look with callgrind what they "
                    + "are, or raise \(file) if they are worth it")
        }
    }

    private func perUnit(_ few: Int, _ many: Int, _ run: (Int) throws -> Double) throws -> Double {
        let first = try run(few)
        return (try run(many) - first) / Double(many - few)
    }

    private func senderRun(_ count: Int) throws -> Double {
        let sink = try Sink(self)
        defer { sink.stop() }
        let file = folder + "/sender.yaml"
        try yaml(sinkPort: sink.port).write(toFile: file, atomically: true, encoding: .utf8)
        return try counted {
            _ = try $0.rest()
        } command: {
            ["sender", "--config", file, "--count", "\(count)", "--listen", "127.0.0.1:0"]
        }
    }

    private func storeRun(_ count: Int) throws -> Double {
        let data = try fresh("store")
        return try counted {
            _ = try $0.rest()
        } command: {
            ["store", "--folder", data, "--events", "\(count)"]
        }
    }

    private func callsRun(_ count: Int) throws -> Double {
        try counted {
            _ = try $0.rest()
        } command: {
            ["calls", "--deliveries", "\(count)"]
        } / 20
    }

    /// One event for so many users of a registry with one device each.
    private func fanOutRun(_ users: Int) throws -> Double {
        let data = try fresh("data")
        _ = try Child.figures([measure, "registry", "--folder", data, "--devices", "10000"])
        return try eventsRun(["--users", "\(users)"], data: data)
    }

    /// Webhooks with two devices each, sent one after another, which is the most expensive case.
    private func webhookRun(_ count: Int, keepsHistory: Bool = true) throws -> Double {
        try eventsRun(
            ["--count", "\(count)"], data: try fresh("data"), keepsHistory: keepsHistory)
    }

    private func eventsRun(
        _ work: [String], data: String, keepsHistory: Bool = true
    ) throws -> Double {
        let sink = try Sink(self)
        defer { sink.stop() }
        let file = folder + "/gateway.yaml"
        try yaml(sinkPort: sink.port, keepsHistory: keepsHistory).write(
            toFile: file, atomically: true, encoding: .utf8)
        setenv("BENCH_DATA", data, 1)
        return try counted {
            _ = try $0.rest()
        } command: {
            ["events", "--config", file, "--listen", "127.0.0.1:0"] + work
        }
    }

    /// The program and its plugins without debug information: valgrind cannot read Swift's.
    private func stripped() throws -> String {
        let target = folder + "/stripped"
        let program = target + "/signalbox-bench"
        guard !FileManager.default.fileExists(atPath: program) else { return program }
        try FileManager.default.createDirectory(
            atPath: target, withIntermediateDirectories: true)
        let source = URL(filePath: signalbox).deletingLastPathComponent().path
        let names = try FileManager.default.contentsOfDirectory(atPath: source)
        for name in names
        where name == "signalbox" || name == "signalbox-bench" || name.hasSuffix(".so") {
            _ = try Child(["strip", "-g", "-o", "\(target)/\(name)", "\(source)/\(name)"]).rest()
        }
        return program
    }

    /// Runs the program under callgrind. Returns the number of instructions.
    private func counted(
        _ body: (Child) throws -> Void, command: () -> [String]
    ) throws -> Double {
        let out = try fresh("callgrind") + "/out"
        let program = try stripped()
        let child = try Child(
            ["valgrind", "-q", "--tool=callgrind", "--callgrind-out-file=\(out)", program]
                + command())

        try body(child)
        let text = try String(contentsOfFile: out, encoding: .utf8)
        guard let line = text.split(separator: "\n").first(where: { $0.hasPrefix("totals:") }),
            let count = Double(line.dropFirst("totals: ".count))
        else { throw Failure("callgrind wrote no totals") }
        return count
    }
}
