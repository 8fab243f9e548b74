internal import SignalboxCore
package import SignalboxGateway
internal import SignalboxJSON
internal import SignalboxObservability
internal import SignalboxThreads

/// A running gateway's rates, latency and waiting deliveries, sampled from its admin listener.
package final class TopTool: Sendable {
    /// One sample of the gateway.
    package struct Sample: Sendable {
        let takenNs: UInt64
        package let metrics: MetricsSample
        var readiness: JSONValue
    }

    private let client: AdminClient

    /// Asks the gateway with that configuration.
    package init(_ options: GatewayOptions) throws {
        client = try AdminClient(try options.readableConfig(), options)
    }

    /// Takes a sample.
    package func sample() async throws -> Sample {
        let metrics = try await client.text("/metrics")
        let readiness = try await client.text("/readyz")
        return Sample(
            takenNs: SystemClock.monotonicNs, metrics: MetricsSample(metrics),
            readiness: (try? JSONValue.parse(readiness)) ?? .null)
    }

    /// Closes the tool.
    package func close() async { await client.close() }
}

/// What `top` shows: rates between two samples, and the state at the second.
package struct TopTable: Sendable {
    private let now: TopTool.Sample
    private let earlier: TopTool.Sample
    private let seconds: Double

    /// Compares two samples.
    package init(_ now: TopTool.Sample, since earlier: TopTool.Sample) {
        self.now = now
        self.earlier = earlier
        let ns = now.takenNs > earlier.takenNs ? now.takenNs - earlier.takenNs : 0
        seconds = max(0.001, Double(ns) / 1_000_000_000)
    }

    /// Lines of text, without colours.
    package var lines: [String] {
        let readiness = now.readiness
        let waiting = readiness["waiting"]?.integer ?? 0
        let name = readiness["gateway"]?.string ?? ""
        var out = [
            "\(name)  \(readiness["status"]?.string ?? "no answer")  \(waiting) waiting",
            "events/s    "
                + ["accepted", "duplicate", "unrouted", "unreached", "build_failed"].map { result in
                    "\(result) \(rate("events_total", ["result": result]))"
                }.joined(separator: "  "),
            "requests    p50 \(latency(0.5, "accept_seconds", [:]))  p99 "
                + latency(0.99, "accept_seconds", [:]), "",
        ]
        var rows = [
            [
                "SENDER", "APP", "STATE", "CONNECTIONS", "IN MEMORY", "DELIVERED/S", "RETRIED/S",
                "FAILED/S", "SENDER P50", "SENDER P99", "WHY",
            ]
        ]
        guard case .array(let senders) = readiness["senders"] else { return out }
        if let note = ShownSenders.note(readiness) { out += [note, ""] }
        for sender in senders {
            let key = sender["sender"]?.string ?? ""
            let app = sender["app"]?.string ?? ""
            func count(_ result: String) -> String {
                rate("lane_deliveries_total", ["sender": key, "app": app, "result": result])
            }
            rows.append([
                key, sender["app"]?.string ?? "",
                [
                    sender["state"]?.string,
                    sender["paused_since_unix_ms"] == nil ? sender["reason"]?.string : nil,
                ].compactMap { $0 }.joined(separator: ": "),
                "\(sender["connections"]?.integer ?? 0)", "\(sender["in_memory"]?.integer ?? 0)",
                count("delivered"), count("retried"), count("failed"),
                latency(0.5, "provider_seconds", ["sender": key]),
                latency(0.99, "provider_seconds", ["sender": key]), Self.why(sender),
            ])
        }
        out += Self.aligned(rows)
        return out + readiness.pauses.filter { $0.kind == .route }.map(\.text)
    }

    /// `connection refused, since 2026-01-02 10:40:12.000`, or who paused it; empty if all is well.
    private static func why(_ sender: JSONValue) -> String {
        let isPaused = sender["paused_since_unix_ms"] != nil
        let said = (isPaused ? sender["reason"] : sender["detail"])?.string
        let since = sender["paused_since_unix_ms"] ?? sender["held_since_unix_ms"]
        return PlainText.line(
            [said, since?.integer.map { "since \(TimeText.local($0))" }].compactMap { $0 }
                .joined(separator: ", "))
    }

    private func rate(_ name: String, _ labels: [String: String]) -> String {
        let name = "signalbox_\(name)"
        let change = now.metrics.sum(name, labels) - earlier.metrics.sum(name, labels)
        // A counter that went back means the gateway was restarted.
        let rate = max(0, change) / seconds
        return rate < 100 ? "\((rate * 10).rounded() / 10)" : "\(Int(nearest: rate))"
    }

    private func latency(_ share: Double, _ name: String, _ labels: [String: String]) -> String {
        guard
            let value = now.metrics.quantile(
                share, of: "signalbox_\(name)", labels, since: earlier.metrics),
            value.isFinite
        else { return "-" }
        let ms = value * 1_000
        return ms < 10 ? "≤\((ms * 10).rounded() / 10) ms" : "≤\(Int(nearest: ms)) ms"
    }

    private static func aligned(_ rows: [[String]]) -> [String] {
        let columns = rows.first?.count ?? 0
        let widths = (0..<columns).map { column in rows.map { $0[column].count }.max() ?? 0 }
        return rows.map { row in
            var line = ""
            for (cell, width) in zip(row, widths) {
                line += cell + String(repeating: " ", count: width - cell.count + 2)
            }
            while line.last == " " { line.removeLast() }
            return line
        }
    }
}
