internal import Synchronization

/// A number for operators: it counts, or says how much there is.
///
/// Thread: any; wait-free.
public final class Metric: Sendable {
    private let value = Atomic<Int64>(0)

    init() {}

    /// Adds to it.
    public func add(_ delta: Int64 = 1) { value.wrappingAdd(delta, ordering: .relaxed) }

    /// Sets it.
    public func set(_ new: Int64) { value.store(new, ordering: .relaxed) }

    /// The current value.
    public var current: Int64 { value.load(ordering: .relaxed) }
}

/// A metric that counts.
public final class Counters: MetricFamily {
    /// Name, help and labels.
    public let about: MetricAbout
    private let table = SeriesTable { Metric() }
    private let parts: Double

    /// Makes a counter; one without labels is shown as 0 from the start.
    ///
    /// `parts`: it counts parts of its unit, so many to one.
    public init(_ name: String, _ help: String, _ labels: [String] = [], parts: Int = 1) {
        about = MetricAbout(name: name, kind: .counter, help: help, labels: labels)
        self.parts = Double(parts)
        if labels.isEmpty { _ = self[] }
    }

    /// The series with these values of the labels; asking for it shows it.
    public subscript(_ a: String = "", _ b: String = "", _ c: String = "", _ d: String = "")
        -> Metric
    { table.series(LabelValues(a, b, c, d)) }

    /// Shows a series no more, until somebody asks for it again.
    public func remove(_ a: String = "", _ b: String = "", _ c: String = "", _ d: String = "") {
        table.remove(LabelValues(a, b, c, d))
    }

    /// Writes its series.
    public func write(to page: inout MetricPage) {
        page.write(about, table.all) { page, labels, metric in
            page.sample(about.name, labels, Double(metric.current) / parts)
        }
    }
}

/// A metric that says how much there is.
public final class Gauges: MetricFamily {
    /// Name, help and labels.
    public let about: MetricAbout
    private let table = SeriesTable { 0.0 }

    /// Makes a gauge, which is shown when it was set.
    public init(_ name: String, _ help: String, _ labels: [String] = []) {
        about = MetricAbout(name: name, kind: .gauge, help: help, labels: labels)
    }

    /// Sets the series with these values of the labels.
    public func set(
        _ value: Double, _ a: String = "", _ b: String = "", _ c: String = "", _ d: String = ""
    ) { table.set(LabelValues(a, b, c, d), value) }

    /// Sets the series without labels to 1 or 0.
    public func set(_ isSo: Bool) { set(isSo ? 1 : 0) }

    /// Sets all series at once: those that are missing are no longer shown.
    public func setAll(_ rows: [(labels: [String], value: Double)]) {
        var new: [LabelValues: Double] = [:]
        for (labels, value) in rows {
            func label(_ index: Int) -> String { index < labels.count ? labels[index] : "" }
            let key = LabelValues(label(0), label(1), label(2), label(3)).bounded
            if new.count < SeriesTable<Double>.seriesMax || new[key] != nil {
                new[key] = value
            } else {
                new[.other, default: 0] += value
            }
        }
        table.replaceAll(new)
    }

    /// Writes its series.
    public func write(to page: inout MetricPage) {
        page.write(about, table.all) { $0.sample(about.name, $1, $2) }
    }
}
