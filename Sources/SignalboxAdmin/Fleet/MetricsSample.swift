internal import SignalboxCore

/// Parsed metrics in Prometheus' text format, for `top` and scripts.
package struct MetricsSample: Sendable {
    struct Series: Sendable {
        var labels: [String: String]
        var value: Double
    }

    private var series: [String: [Series]] = [:]

    /// Parses the text; malformed lines are ignored.
    init(_ text: String) {
        for line in text.split(separator: "\n") where !line.hasPrefix("#") {
            guard let (name, labels, value) = Self.read(line) else { continue }
            series[name, default: []].append(Series(labels: labels, value: value))
        }
    }

    /// Series of a metric with these labels.
    func series(_ name: String, _ labels: [String: String] = [:]) -> [Series] {
        (series[name] ?? []).filter { one in labels.allSatisfy { one.labels[$0.key] == $0.value } }
    }

    /// Their sum.
    func sum(_ name: String, _ labels: [String: String] = [:]) -> Double {
        series(name, labels).reduce(0) { $0 + $1.value }
    }

    /// The metrics split by the values of a label.
    func split(by label: String) -> [String: MetricsSample] {
        var parts: [String: MetricsSample] = [:]
        for (name, all) in series {
            for one in all {
                guard let value = one.labels[label] else { continue }
                parts[value, default: MetricsSample("")].series[name, default: []].append(one)
            }
        }
        return parts
    }

    /// The quantile `share` of a histogram's observations since `earlier`, in its unit; nil without observations. Only
    /// as precise as the buckets.
    func quantile(
        _ share: Double, of name: String, _ labels: [String: String], since earlier: MetricsSample?
    ) -> Double? {
        var counts: [Double: Double] = [:]
        for (sample, sign) in [(self, 1.0), (earlier, -1.0)] {
            for one in sample?.series("\(name)_bucket", labels) ?? [] {
                let bound = one.labels["le"].map { $0 == "+Inf" ? .infinity : Double($0) ?? .nan }
                guard let bound, !bound.isNaN else { continue }
                counts[bound, default: 0] += sign * one.value
            }
        }
        guard let total = counts[.infinity], total > 0 else { return nil }
        return counts.keys.sorted().first { (counts[$0] ?? 0) >= share * total }
    }

    /// `name{a="b"} 1`, with the escapes of labels.
    private static func read(
        _ line: Substring
    ) -> (name: String, labels: [String: String], value: Double)? {
        let name = line.prefix { $0 != "{" && $0 != " " }
        var rest = line[name.endIndex...]
        var labels: [String: String] = [:]
        if rest.first == "{" {
            rest = rest.dropFirst()
            while let mark = rest.first, mark != "}" {
                let key = rest.prefix { $0 != "=" }
                rest = rest[key.endIndex...].dropFirst()
                guard rest.first == "\"" else { return nil }
                rest = rest.dropFirst()
                var value = ""
                while let next = rest.first, next != "\"" {
                    rest = rest.dropFirst()
                    guard next == "\\", let escaped = rest.first else {
                        value.append(next)
                        continue
                    }
                    value.append(escaped == "n" ? "\n" : escaped)
                    rest = rest.dropFirst()
                }
                labels[String(key)] = value
                rest = rest.dropFirst()
                if rest.first == "," { rest = rest.dropFirst() }
            }
            rest = rest.dropFirst()
        }
        guard let value = rest.split(separator: " ").first.flatMap({ Double($0) }) else {
            return nil
        }
        return (String(name), labels, value)
    }
}
