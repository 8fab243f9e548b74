public import SignalboxCore

/// What a lane was told to take back: an older push that still waits is not sent any more.
///
/// In memory, since it is about the minutes in which a failed push waits for its next attempt: after a restart
/// such a push is sent, and so is the withdrawal if it was not settled yet. A value without clock or lock.
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
    /// The id of the newest withdrawal of each; ids grow in the order in which events came.
    private var newest: [Key: UInt64] = [:]
    /// The generation before, which is forgotten when the current one is full.
    private var older: [Key: UInt64] = [:]

    /// Remembers as many at least, and at most twice as many.
    public init(countMax: Int = 4_096) { self.countMax = countMax }

    /// Takes those out of a batch that were taken back before they were sent; notes withdrawals in it.
    public mutating func takeCovered(from batch: inout [Delivery]) -> [Delivery] {
        for delivery in batch where delivery.content.notification.isWithdrawn { note(delivery) }
        guard !newest.isEmpty || !older.isEmpty else { return [] }
        var covered: [Delivery] = []
        batch.removeAll { delivery in
            guard isCovered(delivery) else { return false }
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
        newest[key] = max(newest[key] ?? 0, delivery.id)
    }

    private func isCovered(_ delivery: Delivery) -> Bool {
        let note = delivery.content.notification
        guard !note.collapse.isEmpty, !note.isWithdrawn else { return false }
        let key = Key(delivery)
        return delivery.id < max(newest[key] ?? 0, older[key] ?? 0)
    }
}
