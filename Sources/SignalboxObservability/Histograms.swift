internal import Synchronization

/// How often something took how long.
///
/// Thread: any; an observation is two additions, without a lock or an allocation.
public final class Histogram: Sendable {
    /// Upper bounds of the buckets, in microseconds: one millisecond to two hours. A further bucket takes the rest.
    static let bounds: InlineArray<18, Int64> = [
        1_000, 2_500, 5_000, 10_000, 25_000, 50_000, 100_000, 250_000, 500_000, 1_000_000,
        2_500_000, 5_000_000, 10_000_000, 30_000_000, 60_000_000, 300_000_000, 1_800_000_000,
        7_200_000_000,
    ]

    private let buckets = InlineArray<19, Atomic<Int64>> { _ in Atomic(0) }
    private let sumMicroseconds = Atomic<Int64>(0)

    init() {}

    /// Something took so long, `count` times.
    public func observe(ns: UInt64, count: Int = 1) {
        observe(microseconds: Int64(clamping: ns / 1_000), count)
    }

    /// Something took so long, `count` times.
    public func observe(ms: UInt64, count: Int = 1) {
        observe(microseconds: Int64(clamping: min(ms, 1 << 50)) * 1_000, count)
    }

    private func observe(microseconds: Int64, _ count: Int) {
        var index = 0
        while index < Self.bounds.count, microseconds > Self.bounds[index] { index += 1 }
        buckets[index].wrappingAdd(Int64(count), ordering: .relaxed)
        sumMicroseconds.wrappingAdd(microseconds &* Int64(count), ordering: .relaxed)
    }

    /// How often at all.
    public var count: Int64 { (0..<buckets.count).reduce(0) { $0 + bucket($1) } }

    func bucket(_ index: Int) -> Int64 { buckets[index].load(ordering: .relaxed) }

    var sumSeconds: Double { Double(sumMicroseconds.load(ordering: .relaxed)) / 1_000_000 }
}

/// A metric that measures how long something takes.
public final class Histograms: MetricFamily {
    /// Name, help and labels.
    public let about: MetricAbout
    private let table = SeriesTable { Histogram() }

    /// Makes a histogram; one without labels is shown as 0 from the start.
    public init(_ name: String, _ help: String, _ labels: [String] = []) {
        about = MetricAbout(name: name, kind: .histogram, help: help, labels: labels)
        if labels.isEmpty { _ = self[] }
    }

    /// The series with these values of the labels; asking for it shows it. Keep it where much is measured.
    public subscript(_ a: String = "", _ b: String = "", _ c: String = "") -> Histogram {
        table.series(LabelValues(a, b, c, ""))
    }

    /// Writes its series.
    public func write(to page: inout MetricPage) {
        page.write(about, table.all) { page, labels, series in
            let lead = labels.isEmpty ? "" : "\(labels),"
            // The sum first: an observation in between makes it too small, not larger than its buckets say.
            let sum = series.sumSeconds
            var count: Int64 = 0
            for index in 0...Histogram.bounds.count {
                count += series.bucket(index)
                let bound =
                    index == Histogram.bounds.count
                    ? "+Inf" : MetricPage.number(Double(Histogram.bounds[index]) / 1_000_000)
                page.sample("\(about.name)_bucket", "\(lead)le=\"\(bound)\"", Double(count))
            }
            page.sample("\(about.name)_sum", labels, sum)
            page.sample("\(about.name)_count", labels, Double(count))
        }
    }
}
