import Foundation

/// Memory and latency.
extension Bench {
    /// (h) Resident memory; (f) takes the figure at full rate.
    func memory() throws {
        let idle = try GatewayProcess(self, yaml(sinkPort: 1))
        usleep(500_000)
        note("memory_idle_mib", idle.facts.memory.now, "resident when idle (target 40)")
        idle.stop()
        let data = try fresh("backlog")
        _ = try Child.figures([
            measure, "backlog", "--folder", data, "--deliveries", "1000000",
        ])
        // The provider is down: nothing listens on port 1.
        let full = try GatewayProcess(self, yaml(sinkPort: 1), data: data)
        defer { full.stop() }
        usleep(5_000_000)
        note(
            "memory_million_waiting_mib", full.facts.memory.peak,
            "resident with 1,000,000 waiting for a dead provider (target 120)")
        let resumed = try fresh("resume")
        _ = try Child.figures([
            measure, "backlog", "--folder", resumed, "--deliveries", "1000000",
        ])
        let report = try Child.figures([measure, "resume", "--folder", resumed])
        note(
            "resume_first_lease_ms", report["first_lease_ms"] ?? 0,
            "from the start with 1,000,000 waiting to the first lease")
    }

    /// (i) The time from when a webhook is due to its answer, and to its push at the provider.
    func latency() throws {
        let fsync =
            try Child.figures([
                measure, "store", "--folder", try fresh("store"), "--events", "1000",
            ])["fsync_ms"] ?? 0
        for rate in [100, 1_000, 10_000] {
            let sink = try Sink(self)
            let gateway = try GatewayProcess(self, yaml(sinkPort: sink.port))
            try sink.begin(numbers: 1)
            _ = try load(gateway, count: 2_000)
            _ = try sink.wait(for: 4_000)
            // The files of earlier measurements are deleted. The file system frees their blocks by
            // its next commit, at most five seconds later, and holds up every fsync until then.
            usleep(7_000_000)
            let (answered, seen) = try steady(gateway, sink, perSecond: rate)
            for (name, report) in [("answer", answered), ("push", seen)] {
                for key in ["p50", "p99", "p999"] {
                    note(
                        "\(name)_ms_\(key)_at_\(rate)", (report["\(key)_us"] ?? 0) / 1_000,
                        name == "answer"
                            ? "webhook due to answered" : "webhook due to push at the sink")
                }
            }
            if rate == 1_000 {
                note(
                    "push_ms_p99_target", 3 * fsync + 2,
                    "target of push_ms_p99_at_1000: 3 fsyncs and 2 ms")
            }
            gateway.stop()
            sink.stop()
        }
    }

    /// Six seconds of webhooks at a steady rate: what their sender saw, and what the sink saw.
    func steady(
        _ gateway: GatewayProcess, _ sink: Sink, perSecond rate: Int, _ place: String = ""
    ) throws -> (answered: [String: Double], seen: [String: Double]) {
        let webhooks = rate * 6
        try sink.begin(numbers: webhooks * 2)
        let answered = try load(gateway, connections: 256, count: webhooks, perSecond: rate)
        let seen = try sink.wait(for: webhooks * 2)
        require(
            answered["wrong"] == 0 && seen["requests"] == Double(webhooks * 2)
                && seen["wrong"] == 0 && seen["again"] == 0,
            "\(place)at \(rate) webhooks per second: \(answered), \(seen)")
        return (answered, seen)
    }

    /// The cost of a reload.
    func reload() throws {
        let report = try Child.figures([
            measure, "reload", "--folder", try fresh("reload"), "--listen",
            "127.0.0.1:0", "--admin", "127.0.0.1:0",
        ])
        note("reload_p50_ms", report["p50_ms"] ?? 0, "reload of three changed plugin files")
        note("reload_kib_that_stay", report["kib_that_stay"] ?? 0, "resident, per such reload")
    }
}
