internal import SignalboxCore

/// Leases: who may send what, until when, and how it ended.
extension MemoryQueue {
    mutating func lease(
        _ lane: LaneKey, _ wish: LeaseWish, nowUnixMs: UInt64, _ token: LeaseToken
    ) -> StoreLease {
        expire(lane, nowUnixMs: nowUnixMs)
        var out = StoreLease(token: token)
        let until = nowUnixMs + wish.forMs
        for rank in 0..<3 {
            if wish.isProbe {
                guard out.deliveries.isEmpty, let id = probe(lane, rank, nowUnixMs) else {
                    continue
                }
                hold(id, until: until, token, &out.deliveries)
            } else {
                while out.deliveries.count < wish.max, let id = popDue(lane, rank, nowUnixMs) {
                    hold(id, until: until, token, &out.deliveries)
                }
            }
        }
        for delivery in out.deliveries {
            guard let stale = entries[delivery.id]?.stale, !stale.isEmpty else { continue }
            out.stale[delivery.id] = stale
        }
        if let next = nextDue(lane) {
            out.hasMore = next <= nowUnixMs
            if !out.hasMore { out.nextDueInMs = next - nowUnixMs }
        }
        return out
    }

    mutating func popDue(_ lane: LaneKey, _ rank: Int, _ nowUnixMs: UInt64) -> UInt64? {
        lanes[lane]?.waiting[rank].popDue(nowUnixMs: nowUnixMs) { [entries] in
            Self.isWaiting(entries[$0], $1)
        }
    }

    /// Picks a delivery that was never tried, or else the one that is due first. What was never tried and is not due
    /// waits for its time.
    func probe(_ lane: LaneKey, _ rank: Int, _ nowUnixMs: UInt64) -> UInt64? {
        let all = lanes[lane]?.waiting[rank].all ?? []
        let waiting = all.filter { one in
            guard let entry = entries[one.id], Self.isWaiting(entry, one.dueUnixMs) else {
                return false
            }
            return one.dueUnixMs <= nowUnixMs || entry.delivery.attempt > 1
                || entry.delivery.freeAttempts > 0
        }
        let untried = waiting.first { entries[$0.id]?.delivery.attempt == 1 }
        return (untried ?? waiting.first)?.id
    }

    static func isWaiting(_ entry: Entry?, _ dueUnixMs: UInt64) -> Bool {
        guard let entry else { return false }
        return entry.holder == nil && entry.dueUnixMs == dueUnixMs
    }

    static func isHeld(_ entry: Entry?, _ untilUnixMs: UInt64) -> Bool {
        guard let entry else { return false }
        return entry.holder != nil && entry.dueUnixMs == untilUnixMs
    }

    mutating func hold(
        _ id: UInt64, until untilUnixMs: UInt64, _ token: LeaseToken, _ out: inout [Delivery]
    ) {
        guard var entry = entries[id] else { return }
        entry.holder = token
        entry.formerHolder = nil
        entry.dueUnixMs = untilUnixMs
        entries[id] = entry
        lanes[LaneKey(entry.delivery), default: Lane()].held.add(id, dueUnixMs: untilUnixMs)
        out.append(entry.delivery)
    }

    /// Gives back deliveries whose lease has expired.
    mutating func expire(_ lane: LaneKey, nowUnixMs: UInt64) {
        while let id = lanes[lane]?.held.popDue(
            nowUnixMs: nowUnixMs, where: { [entries] in Self.isHeld(entries[$0], $1) })
        {
            let holder = entries[id]?.holder
            entries[id]?.holder = nil
            entries[id]?.formerHolder = holder
            put(id)
        }
    }

    /// Ends all leases of an owner.
    mutating func takeBack(from owner: String) {
        for (id, entry) in entries where entry.holder?.owner == owner {
            giveBack(id, dueUnixMs: 0)
        }
    }

    mutating func giveBack(_ id: UInt64, dueUnixMs: UInt64) {
        entries[id]?.holder = nil
        entries[id]?.formerHolder = nil
        entries[id]?.dueUnixMs = dueUnixMs
        put(id)
    }

    mutating func extend(
        _ ids: [UInt64], untilUnixMs: UInt64, _ token: LeaseToken
    ) -> LeaseRefusal {
        var out = LeaseRefusal()
        var held: [Delivery] = []
        for id in ids {
            guard let entry = entries[id], entry.holder == token || entry.formerHolder == token
            else {
                out.lost.append(id)
                continue
            }
            hold(id, until: untilUnixMs, token, &held)
        }
        return out
    }

    /// Lanes whose deliveries are due for any owner now.
    func lanes(releasedBy ends: [LeaseEnd], except lost: [UInt64]) -> Set<LaneKey> {
        ends.reduce(into: []) { lanes, end in
            guard case .released(let id) = end, !lost.contains(id), let entry = entries[id]
            else { return }
            lanes.insert(LaneKey(entry.delivery))
        }
    }

    mutating func settle(
        _ ends: [LeaseEnd], nowUnixMs: UInt64, _ token: LeaseToken
    ) -> LeaseRefusal {
        var out = LeaseRefusal()
        defer {
            for case .delivered(_, let new?) in ends { mark(new) }
        }
        for end in ends {
            guard let entry = entries[end.id], entry.holder == nil || entry.holder == token else {
                out.lost.append(end.id)
                continue
            }
            settle(end, entry, nowUnixMs: nowUnixMs)
        }
        return out
    }

    mutating func settle(_ end: LeaseEnd, _ entry: Entry, nowUnixMs: UInt64) {
        let id = end.id
        switch end {
        case .delivered: entries[id] = nil
        case .released: giveBack(id, dueUnixMs: 0)
        case .retry(_, let afterMs, let attempt, let isFree):
            entries[id]?.delivery.attempt = attempt.number + 1
            if isFree {
                entries[id]?.delivery.freeAttempts += 1
                // Keeps the first and the last attempt of an outage.
                let former = entry.attempts.filter { $0.reason == attempt.reason }
                if former.count > 1, former.last == entry.attempts.last {
                    entries[id]?.attempts.removeLast()
                }
            }
            entries[id]?.attempts.append(attempt)
            noteOvertakable(entry.delivery)
            giveBack(id, dueUnixMs: nowUnixMs + afterMs)
        case .dead(_, let reason, let attempt):
            entries[id] = nil
            let (delivery, event) = (entry.delivery, entry.event)
            let letter = DeadLetter(
                kind: delivery.kind, id: id, unixMs: attempt.unixMs, reason: reason,
                sender: delivery.sender,
                route: delivery.route, eventID: event.id, source: event.source, type: event.type,
                subject: event.subject, receivedUnixMs: entry.receivedUnixMs,
                stableID: delivery.stableID, notification: delivery.content.notification,
                device: delivery.device, attempts: entry.attempts + [attempt])
            dead[id] = Dead(
                letter: letter, deadlineUnixMs: delivery.deadlineUnixMs, badge: delivery.badge,
                content: delivery.content, acceptedUnixMs: delivery.acceptedUnixMs,
                stale: entry.stale)
            noteOvertakable(delivery)
        }
    }
}
