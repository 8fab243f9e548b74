internal import Synchronization

/// Series by the values of their labels; the same values give the same series.
final class SeriesTable<Series: Sendable>: Sendable {
    /// The limit of series of one metric. What comes above it is counted together, with the label `other`, so that a
    /// label with free text cannot fill the memory.
    static var seriesMax: Int { 10_000 }

    private let known: Mutex<[LabelValues: Series]>
    private let make: @Sendable () -> Series

    init(_ make: @escaping @Sendable () -> Series) {
        known = Mutex([:])
        self.make = make
    }

    func series(_ labels: LabelValues) -> Series {
        known.withLock { known in
            if let series = known[labels] { return series }
            // Long values are cut, so several may share one series.
            var key = labels.bounded
            if let series = known[key] { return series }
            if known.count >= Self.seriesMax { key = .other }
            if let series = known[key] { return series }
            let series = make()
            known[key] = series
            return series
        }
    }

    func remove(_ labels: LabelValues) { known.withLock { $0[labels.bounded] = nil } }

    func replaceAll(_ new: [LabelValues: Series]) { known.withLock { $0 = new } }

    func set(_ labels: LabelValues, _ series: Series) {
        known.withLock { known in
            let key = labels.bounded
            if known[key] != nil || known.count < Self.seriesMax { known[key] = series }
        }
    }

    var all: [(labels: LabelValues, series: Series)] {
        known.withLock { known in known.map { ($0.key, $0.value) } }
    }
}
