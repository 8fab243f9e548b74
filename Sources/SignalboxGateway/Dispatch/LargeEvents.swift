internal import Synchronization

/// Bounds the memory of events for large audiences while they are routed, built and stored: about half a KiB for each
/// device, for all of them at once, since an event is on disk with all its deliveries or not at all.
final class LargeEvents: Sendable {
    /// Requests with fewer devices are not counted: they are many, and the bound of unfinished bodies holds for them.
    static let devicesMin = 10_000
    /// Most devices of large events at a time.
    static let devicesMax = 200_000

    private let underWay = Mutex(0)

    /// Lets a request in, or says that it must come again. One that is larger than the bound is let in alone.
    func enter(_ devices: Int) -> Bool {
        guard devices > Self.devicesMin else { return true }
        return underWay.withLock { sum in
            guard sum == 0 || sum + devices <= Self.devicesMax else { return false }
            sum += devices
            return true
        }
    }

    /// A request that was let in has ended.
    func leave(_ devices: Int) {
        guard devices > Self.devicesMin else { return }
        underWay.withLock { $0 -= devices }
    }
}
