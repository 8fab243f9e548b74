public import SignalboxCore

/// What a lane was told to take back: an older push that still waits is not sent any more.
///
/// In memory, since it is about the minutes in which a failed push waits for its next attempt. After a restart, or if
/// another gateway has sent the withdrawal, such a push is sent.
///
/// Older means that its event was received earlier, by the clocks of the gateways that took the two. In case of doubt
/// a push is sent: a notification that should have gone is better than one that is missing. A value without clock or
/// lock.
public struct Withdrawals: Sendable {
    /// One shown notification of one device.
    private struct Key: Sendable, Hashable {
        var token: String
        var collapse: String

        init(_ delivery: Delivery) {
            token = delivery.device.token
            collapse = delivery.content.notification.collapse
        }
    }

    private let countMax: Int
    /// When the newest withdrawal of each was received, in Unix milliseconds.
    private var newest: [Key: UInt64] = [:]
    /// The generation before, which is forgotten when the current one is full.
    private var older: [Key: UInt64] = [:]

    /// Remembers as many at least, and at most twice as many.
    public init(countMax: Int = 4_096) { self.countMax = countMax }

    /// Takes those out of a batch that were taken back before they were sent; notes withdrawals in it.
    public mutating func takeCovered(
        from batch: inout [Delivery], nowUnixMs: UInt64
    ) -> [Delivery] {
        for delivery in batch where delivery.content.notification.isWithdrawn { note(delivery) }
        guard !newest.isEmpty || !older.isEmpty else { return [] }
        var covered: [Delivery] = []
        batch.removeAll { delivery in
            guard isCovered(delivery, nowUnixMs) else { return false }
            covered.append(delivery)
            return true
        }
        return covered
    }

    private mutating func note(_ delivery: Delivery) {
        if newest.count >= countMax {
            older = newest
            newest = [:]
        }
        let key = Key(delivery)
        newest[key] = max(newest[key] ?? 0, delivery.content.receivedUnixMs)
    }

    private func isCovered(_ delivery: Delivery, _ nowUnixMs: UInt64) -> Bool {
        let note = delivery.content.notification
        guard !note.collapse.isEmpty, !note.isWithdrawn else { return false }
        let key = Key(delivery)
        let withdrawn = max(newest[key] ?? 0, older[key] ?? 0)
        // A withdrawal of the future: the clock was set back, and times cannot be compared.
        return withdrawn <= nowUnixMs && delivery.content.receivedUnixMs < withdrawn
    }
}
