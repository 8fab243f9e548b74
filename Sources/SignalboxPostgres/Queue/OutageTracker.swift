internal import SignalboxCore
internal import SignalboxThreads
internal import Synchronization

/// An outage: it begins with the first event that is refused, and is over when none was for a while.
///
/// As long as nothing but refusals follow each other, the gateway takes no webhooks (`stop`). The first event that is
/// stored ends that; without events the writer tries itself.
final class OutageTracker: Sendable {
    private struct Outage {
        var trouble: PostgresOutageCause
        var words: String
        let beganNs: UInt64
        var told: Set<PostgresOutageCause>
        var count = 0
        var lastNs: UInt64
        /// The first refusal since an event was stored; nil if nothing was refused since.
        var sinceNs: UInt64?
    }

    /// An outage is over when nothing was refused for this long.
    private static let quietNs: UInt64 = 10_000_000_000
    /// A single event may itself be at fault. After this long, the database is.
    private static let stopNs: UInt64 = 1_000_000_000

    private let current = Mutex<Outage?>(nil)
    private let onNotice: @Sendable (PostgresNotice) -> Void

    init(_ onNotice: @escaping @Sendable (PostgresNotice) -> Void) { self.onNotice = onNotice }

    /// Why events are refused, or were until recently; nil if they are accepted.
    var reason: String? { current.withLock { $0?.words } }

    /// Nothing was stored since the last refusal.
    var isRefusing: Bool { current.withLock { $0?.sinceNs != nil } }

    /// Why no event is stored; nil if some are stored.
    var stop: PostgresOutageCause? {
        current.withLock { outage in
            guard let outage, let since = outage.sinceNs else { return nil }
            switch outage.trouble {
            case .away, .full, .nameTaken: return outage.trouble
            case .slow, .failed: return outage.lastNs - since >= Self.stopNs ? outage.trouble : nil
            }
        }
    }

    /// So many events were refused; 0 if events would be refused, but none arrived.
    func refused(_ count: Int, _ trouble: PostgresOutageCause, _ words: String) {
        let now = SystemClock.monotonicNs
        let isNews = current.withLock { current in
            var outage =
                current
                ?? Outage(trouble: trouble, words: words, beganNs: now, told: [], lastNs: now)
            outage.trouble = trouble
            outage.words = words
            outage.count += count
            outage.lastNs = now
            outage.sinceNs = outage.sinceNs ?? now
            // A database that comes and goes is away and slow in turn.
            let isPassing = trouble == .away || trouble == .slow
            let isNews = current == nil || !isPassing && !outage.told.contains(trouble)
            outage.told.insert(trouble)
            current = outage
            return isNews
        }
        if isNews { onNotice(.began(trouble, words)) }
    }

    /// A job was refused before it came to the database.
    func refused(_ job: QueueJob, _ failure: StoreFailure) {
        guard case .append = job, failure.message != ConnectionThread<QueueJob>.closed.message
        else { return }
        refused(1, failure.message == StoreFailure.slow.message ? .slow : .away, failure.message)
    }

    /// Events were stored.
    func stored() { current.withLock { $0?.sinceNs = nil } }

    /// Now and then.
    func endOld(quietNs: UInt64 = quietNs) {
        let now = SystemClock.monotonicNs
        let old = current.withLock { current -> Outage? in
            guard let outage = current, outage.sinceNs == nil, outage.lastNs + quietNs <= now
            else { return nil }
            current = nil
            return outage
        }
        guard let old else { return }
        onNotice(.ended(refused: old.count, forMs: (old.lastNs - old.beganNs) / 1_000_000))
    }
}
