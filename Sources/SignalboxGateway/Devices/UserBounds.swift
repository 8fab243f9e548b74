internal import SignalboxHTTP
internal import SignalboxThreads
internal import Synchronization

/// How much each end user may write: devices, presence, badges, opens, and what the audit log says of it.
///
/// A user who is forgotten for another one begins anew, so nobody takes from anybody.
final class UserBounds: Sendable {
    private let buckets = Mutex(TokenBuckets(countMax: 10_000))

    /// The seconds that a user has to wait; nil: none.
    func wait(of user: String, in app: String, perSecond rate: Int) -> Int? {
        guard rate > 0 else { return nil }
        return buckets.withLock {
            $0.take("\(app)\u{1}\(user)", perSecond: rate, nowNs: SystemClock.monotonicNs)
        }
    }
}
