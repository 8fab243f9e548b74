internal import SignalboxCore
internal import Synchronization

/// What a connection has seen of the database, for metrics.
final class ConnectionTally: Sendable {
    /// Classes of commit times: their limits in milliseconds, and their labels. The last one has no limit.
    private static let classes: [(ms: UInt64, label: String)] = [
        (5, "5"), (20, "20"), (100, "100"), (500, "500"), (1_000, "1000"), (5_000, "5000"),
        (.max, "longer"),
    ]

    private struct Counts {
        var connects: Int64 = 0
        var timeouts: Int64 = 0
        var refused: Int64 = 0
        var commits = [Int64](repeating: 0, count: classes.count)
    }

    private let counts = Mutex(Counts())

    func connected() { counts.withLock { $0.connects += 1 } }

    func failed(_ fault: PostgresFault) {
        if fault.isSlow { counts.withLock { $0.timeouts += 1 } }
    }

    func refused(_ count: Int) {
        if count > 0 { counts.withLock { $0.refused += Int64(count) } }
    }

    func committed(inNs: UInt64) {
        let place = Self.classes.firstIndex { inNs / 1_000_000 < $0.ms }
        counts.withLock { $0.commits[place ?? Self.classes.count - 1] += 1 }
    }

    func figures(desk: String, waiting: Int) -> [StoreFigure] {
        let counts = counts.withLock { $0 }
        func figure(_ name: String, _ value: Int64, ms: String? = nil) -> StoreFigure {
            StoreFigure(name, [("desk", desk)] + (ms.map { [("ms", $0)] } ?? []), value)
        }
        var out = [
            figure("signalbox_store_connects_total", counts.connects),
            figure("signalbox_store_timeouts_total", counts.timeouts),
            figure("signalbox_store_refused_total", counts.refused),
            figure("signalbox_store_jobs_waiting", Int64(waiting)),
        ]
        for (place, count) in counts.commits.enumerated() where count > 0 {
            out.append(
                figure("signalbox_store_commits_total", count, ms: Self.classes[place].label))
        }
        return out
    }
}
