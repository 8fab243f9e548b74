internal import SignalboxCore

/// Deliveries for a copy, and of one.
extension MemoryQueue {
    /// What waits or is held, in the order of its ids.
    var storedEntries: [StoredDelivery] {
        entries.values.sorted { $0.delivery.id < $1.delivery.id }.map { entry in
            // Held, or due as soon as it came.
            let isRetry = entry.holder == nil && !entry.attempts.isEmpty
            return StoredDelivery(
                entry.delivery, receivedUnixMs: entry.receivedUnixMs, attempts: entry.attempts,
                dueUnixMs: isRetry ? entry.dueUnixMs : 0, stale: entry.stale)
        }
    }

    var storedDead: [StoredDelivery] {
        dead.values.sorted { $0.letter.id < $1.letter.id }.map { dead in
            let letter = dead.letter
            return StoredDelivery(
                dead.delivery, receivedUnixMs: letter.receivedUnixMs, attempts: letter.attempts,
                death: .init(letter.reason, unixMs: letter.unixMs, isDamaged: false),
                stale: dead.stale)
        }
    }

    mutating func restore(_ stored: StoredDelivery) {
        let delivery = stored.delivery
        if stored.isSingle || stored.death != nil { noteOvertakable(delivery) }
        guard let death = stored.death else {
            entries[delivery.id] = Entry(
                delivery: delivery, event: stored.event, receivedUnixMs: stored.receivedUnixMs,
                attempts: stored.attempts, dueUnixMs: stored.dueUnixMs, stale: stored.stale)
            return put(delivery.id)
        }
        let letter = DeadLetter(
            kind: delivery.kind, id: delivery.id, unixMs: death.unixMs, reason: death.reason,
            sender: delivery.sender, route: delivery.route, eventID: delivery.eventID,
            source: delivery.source, type: delivery.content.eventType, subject: delivery.subject,
            receivedUnixMs: stored.receivedUnixMs, stableID: delivery.stableID,
            notification: delivery.content.notification, device: delivery.device,
            attempts: stored.attempts)
        dead[delivery.id] = Dead(
            letter: letter, deadlineUnixMs: delivery.deadlineUnixMs, badge: delivery.badge,
            content: delivery.content, acceptedUnixMs: delivery.acceptedUnixMs,
            stale: stored.stale)
    }
}
