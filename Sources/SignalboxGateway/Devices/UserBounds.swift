internal import SignalboxHTTP
internal import SignalboxThreads
internal import Synchronization

/// Rate limits per end user for devices, presence, badges, opens and their audit records.
///
/// A user evicted from the table starts with a full bucket, so no user can use up another's limit.
final class UserBounds: Sendable {
    private let buckets = Mutex(TokenBuckets(countMax: 10_000))

    /// The seconds the user has to wait; nil if the request may proceed.
    func wait(of user: String, in app: String, perSecond rate: Int) -> Int? {
        guard rate > 0 else { return nil }
        return buckets.withLock {
            $0.take("\(app)\u{1}\(user)", perSecond: rate, nowNs: SystemClock.monotonicNs)
        }
    }
}
