internal import Synchronization

/// Metrics whose names and labels plugins choose.
public final class PluginMetrics: Sendable {
    /// Series of all plugins.
    static let seriesMax = 20_000

    private struct State {
        var kinds: [String: MetricAbout.Kind] = [:]
        /// By name, then by labels as shown.
        var series: [String: [String: Metric]] = [:]
        var count = 0
    }

    private let state = Mutex(State())

    /// Makes an empty set.
    public init() {}

    /// The counter or gauge with this name and labels; the same arguments return the same one.
    ///
    /// Nil: the limit of series is reached, the name has the other kind, or the page could not be read with a label:
    /// its name is no word, is one of Prometheus' own, or is given twice.
    public func metric(
        _ name: String, _ labels: [(String, String)], isGauge: Bool
    ) -> Metric? {
        var names: Set<String> = []
        for (label, _) in labels {
            guard Self.isLabel(label), names.insert(label).inserted else { return nil }
        }
        let text = labels.map { "\($0)=\"\(LabelText.escaped(LabelText.bounded($1)))\"" }
            .joined(separator: ",")
        let kind: MetricAbout.Kind = isGauge ? .gauge : .counter
        return state.withLock { state in
            guard state.kinds[name] ?? kind == kind else { return nil }
            if let known = state.series[name]?[text] { return known }
            guard state.count < Self.seriesMax else { return nil }
            state.count += 1
            state.kinds[name] = kind
            let metric = Metric()
            state.series[name, default: [:]][text] = metric
            return metric
        }
    }

    private static func isLabel(_ name: String) -> Bool {
        func isLetter(_ byte: UInt8) -> Bool {
            (UInt8(ascii: "a")...UInt8(ascii: "z")).contains(byte | 0x20)
                || byte == UInt8(ascii: "_")
        }
        func isDigit(_ byte: UInt8) -> Bool {
            (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte)
        }
        guard let first = name.utf8.first, isLetter(first) else { return false }
        return name.utf8.count <= 100 && name != "le" && name != "quantile"
            && !name.hasPrefix("__")
            && name.utf8.dropFirst().allSatisfy { isLetter($0) || isDigit($0) }
    }

    /// One family per name.
    public var families: [any MetricFamily] {
        state.withLock { state in
            state.series.map { name, series in
                Family(
                    about: MetricAbout(
                        name: name, kind: state.kinds[name] ?? .counter,
                        help: "A metric of a plugin, see its README.", labels: []),
                    series: series)
            }
        }
    }

    private struct Family: MetricFamily {
        let about: MetricAbout
        let series: [String: Metric]

        func write(to page: inout MetricPage) {
            page.begin(about)
            for (labels, metric) in series.sorted(by: { $0.key < $1.key }) {
                page.sample(about.name, labels, Double(metric.current))
            }
        }
    }
}
