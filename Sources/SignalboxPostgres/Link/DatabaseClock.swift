internal import SignalboxThreads
internal import Synchronization

/// The database's clock, as last heard and counted on with this machine's steady one.
///
/// All gateways on a database go by its clock. Each answer sets it again, so it lags by the way back of an answer
/// and never leads: leases of this gateway look a little shorter to others, never longer.
final class DatabaseClock: Sendable {
    private let heard = Mutex<(unixMs: Int64, atNs: UInt64)>((0, 0))
    private let offsetMs: @Sendable () -> UInt64

    /// `offsetMs` is added to every reading; for tests that move the clock.
    init(offsetMs: @escaping @Sendable () -> UInt64) { self.offsetMs = offsetMs }

    func hear(_ unixMs: Int64) {
        let now = SystemClock.sinceBootNs
        heard.withLock { $0 = (unixMs, now) }
    }

    var nowUnixMs: Int64 {
        let now = SystemClock.sinceBootNs
        let passed = heard.withLock { $0.unixMs + Int64((now - $0.atNs) / 1_000_000) }
        return passed + Int64(clamping: offsetMs())
    }
}
