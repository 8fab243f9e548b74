import Foundation

/// (j) The cost of a delivery as the work grows.
///
/// It is the gateway's processor time, without load generator and sink.
extension Bench {
    func routes() throws {
        try curve("routes", [1, 100, 10_000]) { count, sink in
            let gateway = try GatewayProcess(self, yaml(sinkPort: sink.port, routes: count))
            defer { gateway.stop() }
            let webhooks = some(30_000)
            return try cost(sink, gateway, pushes: webhooks * 2) { _ in
                let answered = try load(gateway, connections: 64, count: webhooks)
                require(answered["wrong"] == 0, "with \(count) routes: \(answered)")
            }
        }
    }

    /// An event for a hundred users, in registries of growing size.
    func devices(isLong: Bool) throws {
        let more = [100_000, isLong ? 10_000_000 : 1_000_000].map { some($0, steps: 1_000) }
        try curve("devices", [1_000] + more) { count, sink in
            let data = try fresh("registry")
            _ = try Child.figures([
                measure, "registry", "--folder", data, "--devices", "\(count)",
            ])
            let gateway = try GatewayProcess(self, yaml(sinkPort: sink.port), data: data)
            defer {
                gateway.stop()
                try? FileManager.default.removeItem(atPath: data)
            }
            // Each event has a hundred users, spread over the whole registry.
            let step = count / 100
            let names = (0..<100).map { "\"u\($0 * step)\"" }.joined(separator: ",")
            let events = some(600)
            return try cost(sink, gateway, pushes: events * 100) { pass in
                let file = try event("\"users\":[\(names)]", "\(pass)")
                _ = try cloudEvents(gateway, file, count: events, connections: min(16, events))
            }
        }
    }

    /// An event for a thousand devices of a growing number of apps, each with its own connections.
    func senders() throws {
        try curve("senders", [1, 100, 1_000]) { count, sink in
            // An event goes to devices of at most 100 apps.
            let perSender = min(count, 100)
            let senders = stride(from: 0, to: count, by: perSender).map { first in
                (first..<first + perSender).map { "com.example.app\($0)" }
            }
            let gateway = try GatewayProcess(self, yaml(sinkPort: sink.port, senders: senders))
            defer { gateway.stop() }
            let events = some(60, steps: senders.count)
            return try cost(sink, gateway, pushes: events * 1_000) { pass in
                for (number, apps) in senders.enumerated() {
                    let devices = (0..<1_000).map {
                        "{\"token\":\"\(Token.text($0))\",\"app\":\"\(apps[$0 % apps.count])\"}"
                    }.joined(separator: ",")
                    let file = try event(
                        "\"devices\":[\(devices)]", "\(pass)-\(number)",
                        type: "parcel.sent\(number + 1)")
                    let count = events / senders.count
                    _ = try cloudEvents(gateway, file, count: count, connections: min(4, count))
                }
            }
        }
    }

    private func curve(
        _ name: String, _ sizes: [Int], _ cost: (Int, Sink) throws -> Double
    ) throws {
        var first: Double?
        for size in sizes {
            let sink = try Sink(self)
            defer { sink.stop() }
            let us = try cost(size, sink)
            note("cost_us_\(name)_\(size)", us, "processor time of the gateway per delivery")
            if let first {
                note("growth_\(name)_\(size)", us / first, "of \(sizes[0]) \(name) (target 1.2)")
            }
            first = first ?? us
        }
    }

    /// Writes an event with these members to a file.
    ///
    /// Each pass has its own ids, or the event would be a duplicate.
    private func event(
        _ members: String, _ pass: String, type: String = "parcel.sent"
    ) throws -> String {
        let path = folder + "/event.json"
        try """
        {"specversion":"1.0","id":"\(pass)-@NUMBER@","source":"/shop","type":"\(type)","data":{\
        "title":"Your parcel","body":"It is on its way.",\(members)}}
        """.write(toFile: path, atomically: true, encoding: .utf8)
        return "@" + path
    }

    /// Microseconds per push; the first half warms up. `load` gets the number of the half.
    private func cost(
        _ sink: Sink, _ gateway: GatewayProcess, pushes: Int, _ load: (Int) throws -> Void
    ) throws -> Double {
        try sink.begin(numbers: 1)
        try load(1)
        _ = try sink.wait(for: pushes)
        let before = gateway.facts.cpuSeconds
        try sink.begin(numbers: 1)
        try load(2)
        let seen = try sink.wait(for: pushes)
        require(
            seen["requests"] == Double(pushes) && seen["wrong"] == 0,
            "of \(pushes) pushes came \(seen)")
        return (gateway.facts.cpuSeconds - before) / Double(pushes) * 1e6
    }
}
