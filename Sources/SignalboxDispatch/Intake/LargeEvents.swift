internal import Synchronization

/// Bounds the memory of events for large audiences while they are routed, built and stored: about half a KiB per
/// device, for all at once, since an event is stored with all its deliveries or not at all.
package final class LargeEvents: Sendable {
    /// Smaller requests are not counted: they are many, and the limit of unfinished bodies bounds them.
    package static let devicesMin = 10_000
    /// Most devices of large events at a time.
    package static let devicesMax = 200_000

    private let devicesMin: Int
    private let devicesMax: Int
    private let underWay = Mutex(0)

    /// Makes one with the limits; tests take smaller ones.
    package init(
        devicesMin: Int = LargeEvents.devicesMin, devicesMax: Int = LargeEvents.devicesMax
    ) { (self.devicesMin, self.devicesMax) = (devicesMin, devicesMax) }

    /// Admits a request, or refuses it for now. One larger than the limit is admitted alone.
    package func enter(_ devices: Int) -> Bool {
        guard devices > devicesMin else { return true }
        return underWay.withLock { sum in
            guard sum == 0 || sum + devices <= devicesMax else { return false }
            sum += devices
            return true
        }
    }

    /// An admitted request has ended.
    package func leave(_ devices: Int) {
        guard devices > devicesMin else { return }
        underWay.withLock { $0 -= devices }
    }
}
