internal import Synchronization

/// A metric for operators: a counter or a gauge with fixed labels.
///
/// Thread: any; wait-free.
public final class Metric: Sendable {
    let name: String
    let labels: String
    let isGauge: Bool
    private let value = Atomic<Int64>(0)

    init(name: String, labels: String, isGauge: Bool) {
        self.name = name
        self.labels = labels
        self.isGauge = isGauge
    }

    /// Adds to a counter.
    public func add(_ delta: Int64 = 1) { value.wrappingAdd(delta, ordering: .relaxed) }

    /// Sets a gauge.
    public func set(_ new: Int64) { value.store(new, ordering: .relaxed) }

    /// The current value.
    public var current: Int64 { value.load(ordering: .relaxed) }
}

/// All metrics of one gateway, by name and labels.
public final class MetricsRegistry: Sendable {
    /// The limit of series.
    ///
    /// More are rejected, so that a label with free text cannot fill the memory.
    public static let seriesMax = 20_000

    private struct State {
        /// By name and labels, formatted for output.
        var series: [String: Metric] = [:]
        /// By name and labels as passed in; a look-up here formats no text.
        var known: [Key: Metric] = [:]
    }

    private struct Key: Hashable {
        let name: String
        let labels: [(String, String)]

        static func == (one: Key, other: Key) -> Bool {
            one.name == other.name && one.labels.elementsEqual(other.labels, by: ==)
        }

        func hash(into hasher: inout Hasher) {
            hasher.combine(name)
            // The metric's name determines the names of its labels.
            for (_, value) in labels { hasher.combine(value) }
        }
    }

    private let state = Mutex(State())

    /// Makes an empty registry.
    public init() {}

    /// The counter with this name and labels; the same arguments return the same counter.
    public func counter(_ name: String, _ labels: [(String, String)] = []) -> Metric {
        metric(name, labels, isGauge: false)
    }

    /// The gauge with this name and labels; the same arguments return the same gauge.
    public func gauge(_ name: String, _ labels: [(String, String)] = []) -> Metric {
        metric(name, labels, isGauge: true)
    }

    private func metric(_ name: String, _ labels: [(String, String)], isGauge: Bool) -> Metric {
        let key = Key(name: name, labels: labels)
        return state.withLock { state in
            if let known = state.known[key] { return known }
            let text = Self.text(of: labels)
            let shown = "\(name){\(text)}"
            let isFull = state.series.count >= Self.seriesMax
            let metric =
                state.series[shown] ?? Metric(name: name, labels: text, isGauge: isGauge)
            // Above the limit the metric works but is not shown.
            if !isFull { state.series[shown] = metric }
            // Long label values are shown truncated, so several keys may share one series.
            if !isFull, state.known.count < Self.seriesMax { state.known[key] = metric }
            return metric
        }
    }

    private static func text(of labels: [(String, String)]) -> String {
        var text = ""
        for (key, value) in labels {
            if !text.isEmpty { text += "," }
            text += key
            text += "=\""
            text += escaped(value)
            text += "\""
        }
        return text
    }

    /// All metrics in Prometheus' text format, version 0.0.4.
    public var text: String {
        let metrics = state.withLock { Array($0.series.values) }
        let sorted = metrics.sorted { ($0.name, $0.labels) < ($1.name, $1.labels) }
        var out = ""
        var last = ""
        for metric in sorted {
            if metric.name != last {
                out += "# TYPE \(metric.name) \(metric.isGauge ? "gauge" : "counter")\n"
                last = metric.name
            }
            let labels = metric.labels.isEmpty ? "" : "{\(metric.labels)}"
            out += "\(metric.name)\(labels) \(metric.current)\n"
        }
        return out
    }

    private static func escaped(_ text: String) -> String {
        let isPlain = text.utf8.allSatisfy {
            $0 != UInt8(ascii: "\\") && $0 != UInt8(ascii: "\"") && $0 != UInt8(ascii: "\n")
        }
        if isPlain, text.utf8.count <= 128 { return text }
        var out = ""
        for character in text.prefix(128) {
            switch character {
            case "\\": out += "\\\\"
            case "\"": out += "\\\""
            case "\n": out += "\\n"
            default: out.append(character)
            }
        }
        return out
    }
}
