internal import SignalboxCore
internal import SignalboxGateway
internal import SignalboxObservability

/// A gateway at one moment, as the admin page shows it.
struct LiveLook: Sendable {
    var takenNs: UInt64
    var unixMs: UInt64
    var metrics: MetricsSample
    /// The answer of `/readyz`; null if not requested.
    var readiness: JSONValue = .null
    var waiting: Int

    /// The counters and histograms that the page shows.
    static func metrics(_ metrics: GatewayMetrics) -> MetricsSample {
        MetricsSample(
            MetricPage([
                metrics.events, metrics.deliveries, metrics.laneDeliveries, metrics.accepts,
                metrics.providerTimes,
            ]).text)
    }
}

/// What happened between two looks: rates per second, and latency in seconds.
struct LiveChange: Sendable {
    private let now: LiveLook
    private let earlier: LiveLook?
    private let seconds: Double

    init(_ now: LiveLook, since earlier: LiveLook?) {
        self.now = now
        self.earlier = earlier
        let start = earlier?.takenNs ?? now.takenNs
        seconds = max(0.001, Double(now.takenNs - min(now.takenNs, start)) / 1_000_000_000)
    }

    /// One point of the plots.
    var point: JSONValue {
        let quantiles: [JSONValue.Member] = [
            .init("p50", latency(0.5, "provider_seconds")),
            .init("p99", latency(0.99, "provider_seconds")),
            .init("accept_p99", latency(0.99, "accept_seconds")),
        ]
        return .object(
            [
                .init("unix_ms", .integer(Int64(clamping: now.unixMs))),
                .init("waiting", .integer(Int64(now.waiting))),
                .init("events", rate("events_total")),
            ] + deliveries + quantiles)
    }

    /// All figures: of the gateway, and by source, route and sender.
    var sample: JSONValue {
        .object([
            .init("unix_ms", .integer(Int64(clamping: now.unixMs))),
            .init("readiness", now.readiness), .init("total", point),
            .init("sources", by("source") { [.init("events", $0.rate("events_total"))] }),
            .init("routes", by("route") { $0.deliveries }),
            .init(
                "senders",
                by("sender") {
                    $0.deliveries + [
                        .init("p50", $0.latency(0.5, "provider_seconds")),
                        .init("p99", $0.latency(0.99, "provider_seconds")),
                    ]
                }),
            // By sender and app, without those that had no attempts.
            .init(
                "lanes",
                by("sender") { sender in
                    sender.members("app") { $0.results(of: "lane_deliveries_total") }.filter {
                        $0.value != Self.none
                    }
                }),
        ])
    }

    private static let none = JSONValue.object(
        results.map { JSONValue.Member($0, .integer(0)) })

    /// An object with one member per value of a label.
    private func by(_ label: String, _ inner: (LiveChange) -> [JSONValue.Member]) -> JSONValue {
        .object(members(label, inner))
    }

    private func members(
        _ label: String, _ inner: (LiveChange) -> [JSONValue.Member]
    ) -> [JSONValue.Member] {
        let parts = now.metrics.split(by: label)
        let before = earlier?.metrics.split(by: label)
        return parts.sorted { $0.key < $1.key }.map { value, metrics in
            var (now, earlier) = (now, earlier)
            now.metrics = metrics
            earlier?.metrics = before?[value] ?? MetricsSample("")
            return .init(value, .object(inner(LiveChange(now, since: earlier))))
        }
    }

    private static let results = ["delivered", "retried", "failed"]

    private var deliveries: [JSONValue.Member] { results(of: "deliveries_total") }

    private func results(of name: String) -> [JSONValue.Member] {
        Self.results.map { .init($0, rate(name, ["result": $0])) }
    }

    private func rate(_ name: String, _ labels: [String: String] = [:]) -> JSONValue {
        guard let earlier else { return .integer(0) }
        let name = "signalbox_\(name)"
        let change = now.metrics.sum(name, labels) - earlier.metrics.sum(name, labels)
        return Self.number(max(0, change) / seconds, parts: 100)
    }

    private func latency(_ share: Double, _ name: String) -> JSONValue {
        let value = now.metrics.quantile(
            share, of: "signalbox_\(name)", [:], since: earlier?.metrics)
        // Beyond the last bucket the value is unknown.
        guard let value, value.isFinite else { return .null }
        return Self.number(value, parts: 10_000)
    }

    private static func number(_ value: Double, parts: Double) -> JSONValue {
        let rounded = (value * parts).rounded() / parts
        return rounded == rounded.rounded() && rounded.magnitude < 0x1p53
            ? .integer(Int64(rounded)) : .number("\(rounded)")
    }
}
