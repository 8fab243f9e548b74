public import SignalboxCore

/// The newest push or withdrawal per key of a device that a lane's provider accepted: older pushes with the same key
/// are obsolete and not sent.
///
/// In memory, for deliveries in flight when a newer one is accepted. Those on disk for another attempt are marked by
/// the store in the commit that ends the newer one.
///
/// When in doubt a push is sent: a superfluous notification is better than a missing one. A value without clock or
/// lock.
public struct NewestAccepted: Sendable {
    private struct Entry: Sendable {
        var order: DeliveryOrder
        var isWithdrawal: Bool
    }

    /// A key is remembered at least this long and at most twice as long, unless there are too many.
    public static let keepMs: UInt64 = 600_000

    private let countMax: Int
    private var newest: [Int64: Entry] = [:]
    /// The previous generation, dropped when the current one is full or old.
    private var older: [Int64: Entry] = [:]
    /// When the current generation began, on the steady clock.
    private var sinceMs: UInt64 = 0
    /// The newest delivery over all keys.
    private var last = DeliveryOrder(unixMs: 0, id: 0)

    /// Remembers at least `countMax` keys, and at most twice as many.
    public init(countMax: Int = 32_768) { self.countMax = countMax }

    /// A delivery was accepted, or a withdrawal is about to be sent.
    public mutating func note(_ new: Supersession, isWithdrawal: Bool = false, nowMs: UInt64) {
        if newest.isEmpty { sinceMs = nowMs }
        if newest.count >= countMax || nowMs - min(nowMs, sinceMs) >= Self.keepMs {
            (older, newest, sinceMs) = (newest, [:], nowMs)
        }
        last = max(last, new.order)
        if let key = new.shown { note(key, new.order, isWithdrawal) }
        if let key = new.badge, !isWithdrawal { note(key, new.order, false) }
    }

    private mutating func note(_ key: Int64, _ order: DeliveryOrder, _ isWithdrawal: Bool) {
        if let known = newest[key], known.order >= order { return }
        newest[key] = Entry(order: order, isWithdrawal: isWithdrawal)
    }

    /// Whether something newer was accepted under any key; deliveries in order need no further check.
    public func isBehind(_ delivery: Delivery) -> Bool { delivery.order < last }

    /// Which parts of a delivery are obsolete, and whether because of a withdrawal.
    public func staleness(
        of delivery: Delivery, nowUnixMs: UInt64
    ) -> (stale: Staleness, isWithdrawn: Bool) {
        guard isBehind(delivery), let own = delivery.supersession else { return ([], false) }
        let shown = own.shown.flatMap { newer($0, own.order, nowUnixMs) }
        let badge = own.badge.flatMap { newer($0, own.order, nowUnixMs) }
        var stale: Staleness = []
        if shown != nil { stale.insert(.shown) }
        if badge != nil { stale.insert(.badge) }
        return (stale, shown?.isWithdrawal ?? false)
    }

    private func newer(_ key: Int64, _ order: DeliveryOrder, _ nowUnixMs: UInt64) -> Entry? {
        let found = [newest[key], older[key]].compactMap { $0 }.max { $0.order < $1.order }
        // An entry from the future means the clock was set back, so times cannot be compared.
        guard let found, order < found.order, found.order.unixMs <= nowUnixMs else { return nil }
        return found
    }
}
