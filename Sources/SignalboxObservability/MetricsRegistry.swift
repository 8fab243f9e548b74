internal import Synchronization

/// A number that operators can read: a counter or a gauge with fixed labels.
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

    /// Counts.
    public func add(_ delta: Int64 = 1) { value.wrappingAdd(delta, ordering: .relaxed) }

    /// Sets a gauge.
    public func set(_ new: Int64) { value.store(new, ordering: .relaxed) }

    /// The value of now.
    public var current: Int64 { value.load(ordering: .relaxed) }
}

/// All metrics of one gateway, by name and labels.
public final class MetricsRegistry: Sendable {
    /// Series beyond this are refused, so that a label with free text cannot fill the memory.
    public static let seriesMax = 20_000

    private let series = Mutex<[String: Metric]>([:])

    /// Makes an empty registry.
    public init() {}

    /// The counter of that name and labels; the same arguments give the same counter.
    public func counter(_ name: String, _ labels: [(String, String)] = []) -> Metric {
        metric(name, labels, isGauge: false)
    }

    /// The gauge of that name and labels; the same arguments give the same gauge.
    public func gauge(_ name: String, _ labels: [(String, String)] = []) -> Metric {
        metric(name, labels, isGauge: true)
    }

    private func metric(_ name: String, _ labels: [(String, String)], isGauge: Bool) -> Metric {
        var text = ""
        text.reserveCapacity(128)
        for (key, value) in labels {
            if !text.isEmpty { text += "," }
            text += key
            text += "=\""
            text += Self.escaped(value)
            text += "\""
        }
        var key = name
        key.reserveCapacity(name.utf8.count + text.utf8.count + 2)
        key += "{"
        key += text
        key += "}"
        return series.withLock { series in
            if let known = series[key] { return known }
            let made = Metric(name: name, labels: text, isGauge: isGauge)
            // Over the bound the metric works but is not shown.
            if series.count < Self.seriesMax { series[key] = made }
            return made
        }
    }

    /// Everything in Prometheus' text format, version 0.0.4.
    public var text: String {
        let metrics = series.withLock { Array($0.values) }
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
