import Foundation

/// Throughput, each figure beside h2load in the same run.
extension Bench {
    /// (b) From leased deliveries to settled answers, on one core, without a disk.
    func sender() throws {
        let sink = try Sink(self)
        defer { sink.stop() }
        let yaml = folder + "/sender.yaml"
        try self.yaml(sinkPort: sink.port).write(toFile: yaml, atomically: true, encoding: .utf8)
        let count = some(400_000)
        let found = try compared(sink) {
            try sink.begin(numbers: count)
            let report = try Child.figures(
                [
                    measure, "sender", "--config", yaml, "--count", "\(count)",
                    "--listen", "127.0.0.1:0",
                ], core: workCore)
            let seen = try sink.report()
            require(
                report["delivered"] == Double(count) && seen["requests"] == Double(count)
                    && seen["wrong"] == 0 && seen["again"] == 0,
                "of \(count) deliveries \(report) were delivered, and the sink saw \(seen)")
            return seen["per_second"] ?? 0
        }
        note("sender_per_second", found.rate, "deliveries in memory -> sink, one core")
        note("sender_ratio", found.ratio, "of h2load (target 0.85)")
    }

    /// (c) Webhooks that match no route: read, checked, decoded, stored, answered.
    func ingest() throws {
        let gateway = try GatewayProcess(self, yaml(sinkPort: 1, when: "never"))
        defer { gateway.stop() }
        _ = try load(gateway, count: 10_000)
        let report = try load(gateway, count: 150_000)
        require(report["wrong"] == 0, "webhooks were not answered 2xx: \(report)")
        note("ingest_per_second", report["per_second"] ?? 0, "webhooks without a route, answered")
    }

    /// (d) The durable queue alone: events with two deliveries, committed and settled.
    func store() throws {
        let report = try Child.figures([
            measure, "store", "--folder", try fresh("store"),
        ])
        note("fsync_ms", report["fsync_ms"] ?? 0, "fdatasync of 4 KiB on this disk, median")
        note(
            "store_events_per_second", report["events_per_second"] ?? 0,
            "events with two deliveries, committed and settled")
    }

    /// (e) The cost of a plugin call.
    func calls() throws {
        for (flags, name) in [([], "call"), (["--isolated"], "call_isolated")] {
            let report = try Child.figures([measure, "calls"] + flags)
            for batch in [1, 16, 256, 512] {
                note(
                    "\(name)_ns_at_\(batch)", report["ns_at_\(batch)"] ?? 0,
                    "APNs: prepare and classify, per delivery, \(batch) at a time")
            }
        }
    }

    /// (f) End to end: webhooks with two devices each, received, stored, pushed and settled.
    ///
    /// Everything runs on this machine.
    func endToEnd() throws {
        let sink = try Sink(self)
        defer { sink.stop() }
        let gateway = try GatewayProcess(self, yaml(sinkPort: sink.port))
        defer { gateway.stop() }
        try sink.begin(numbers: 1)
        _ = try load(gateway, count: 5_000)
        _ = try sink.wait(for: 10_000)
        let two = try webhooks(some(120_000), devices: 2, sink, gateway)
        note("end_to_end_per_second", two.rate, "pushes: webhook in, durable, pushed, settled")
        note("end_to_end_ratio", two.ratio, "of h2load (target 0.35)")
        let one = try webhooks(some(120_000), devices: 1, sink, gateway)
        note("end_to_end_one_per_second", one.rate, "the same with one push per webhook")
        note("end_to_end_one_ratio", one.ratio, "of h2load (target 0.25)")
        note("end_to_end_one_us", one.us, "processor time of the gateway per webhook (target 45)")
        note("memory_full_rate_mib", gateway.facts.memory.peak, "resident at most (target 80)")
    }

    /// Webhooks of so many devices each: pushes per second, beside h2load, and microseconds per webhook.
    private func webhooks(
        _ count: Int, devices: Int, _ sink: Sink, _ gateway: GatewayProcess
    ) throws -> (rate: Double, ratio: Double, us: Double) {
        let pushes = count * devices
        var us = 0.0
        let found = try compared(sink) {
            try sink.begin(numbers: pushes)
            let before = gateway.facts.cpuSeconds
            let answered = try load(gateway, count: count, body: "\(devices)")
            let seen = try sink.wait(for: pushes)
            us = (gateway.facts.cpuSeconds - before) / Double(count) * 1e6
            require(
                answered["wrong"] == 0 && seen["requests"] == Double(pushes)
                    && seen["wrong"] == 0 && seen["again"] == 0,
                "of \(count) webhooks with \(devices) devices: \(answered), \(seen)")
            return seen["per_second"] ?? 0
        }
        return (found.rate, found.ratio, us)
    }

    /// (g) One event for 10,000 users of the registry.
    func fanOut() throws {
        let sink = try Sink(self)
        defer { sink.stop() }
        let data = try fresh("registry")
        let devices = 10_000
        _ = try Child.figures([
            measure, "registry", "--folder", data, "--devices", "\(devices)",
        ])
        let gateway = try GatewayProcess(self, yaml(sinkPort: sink.port), data: data)
        defer { gateway.stop() }
        let body = try fanOutBody(users: 0..<devices)
        let events = 60
        let found = try compared(sink) {
            try sink.begin(numbers: devices)
            _ = try cloudEvents(gateway, body, count: events, connections: 2)
            let seen = try sink.wait(for: events * devices)
            require(
                seen["requests"] == Double(events * devices) && seen["wrong"] == 0
                    && seen["again"] == Double((events - 1) * devices),
                "of \(events) events to \(devices) devices: \(seen)")
            return seen["per_second"] ?? 0
        }
        note("fan_out_per_second", found.rate, "one event to 10,000 registered devices")
        note("fan_out_ratio", found.ratio, "of h2load (target 0.75)")
    }

    /// Writes a CloudEvent for some users of the registry to a file.
    func fanOutBody(users: Range<Int>) throws -> String {
        let names = users.map { "\"u\($0)\"" }.joined(separator: ",")
        let path = folder + "/event-\(users.count).json"
        try """
        {"specversion":"1.0","id":"\(users.lowerBound)-@NUMBER@","source":"/shop","type":"parcel.sent","data":{\
        "title":"Your parcel","body":"It is on its way and will be with you tomorrow.","users":[\(names)]}}
        """.write(toFile: path, atomically: true, encoding: .utf8)
        return "@" + path
    }

    func cloudEvents(
        _ gateway: GatewayProcess, _ body: String, count: Int, connections: Int = 64
    ) throws -> [String: Double] {
        let answered = try load(
            gateway, path: "/in/events", connections: connections, count: count, body: body,
            headers: [
                "content-type: application/cloudevents+json",
                "authorization: Bearer 0123456789abcdef",
            ])
        require(answered["wrong"] == 0, "events were not answered 2xx: \(answered)")
        return answered
    }
}
