internal import SignalboxCore

/// The queue as a value: deliveries, their holders, and due times.
struct MemoryQueue: Sendable {
    struct Entry: Sendable {
        var delivery: Delivery
        var event: Event
        var receivedUnixMs: UInt64
        var attempts: [Attempt] = []
        /// When it can be leased; for a held delivery, when its lease ends.
        var dueUnixMs: UInt64
        var holder: LeaseToken?
        /// Whose lease expired, until somebody takes the delivery again.
        var formerHolder: LeaseToken?
        var stale: Staleness = []
    }

    struct Dead: Sendable {
        var letter: DeadLetter
        var deadlineUnixMs: UInt64
        var badge: Int32?
        var content: SharedNotification
        var acceptedUnixMs: UInt64
        var stale: Staleness = []

        var delivery: Delivery {
            var out = Delivery(
                kind: letter.kind, id: letter.id, eventID: letter.eventID, source: letter.source,
                subject: letter.subject, route: letter.route, sender: letter.sender,
                stableID: letter.stableID, badge: badge, deadlineUnixMs: deadlineUnixMs,
                content: content, device: letter.device)
            out.setAccepted(acceptedUnixMs)
            return out
        }
    }

    var entries: [UInt64: Entry] = [:]
    struct Lane: Sendable {
        /// Waiting ids by priority: high, normal, low.
        var waiting = [DueList(), DueList(), DueList()]
        /// Held ids, ordered by the end of their lease.
        var held = DueList()
    }

    var lanes: [LaneKey: Lane] = [:]
    var seed = (UInt64.random(in: .min ... .max), UInt64.random(in: .min ... .max))
    private(set) var seen: [SeenKey: UInt64] = [:]
    private var seenEnds = DueList()
    private var seenKeys: [UInt64: SeenKey] = [:]
    var dead: [UInt64: Dead] = [:]
    var lastID: UInt64 = 0
    /// Ids of what was tried, waits for a time or is dead, by the keys under which something newer makes it obsolete.
    private var overtakable: [Int64: Set<UInt64>] = [:]

    static func rank(_ delivery: Delivery) -> Int {
        switch delivery.content.notification.priority ?? .normal {
        case .high: 0
        case .normal: 1
        case .low: 2
        }
    }

    // MARK: Coming

    /// Whether an event's key was seen within its window. If not, remembers the key.
    mutating func isDuplicate(_ event: Event, nowUnixMs: UInt64, windowMs: UInt64) -> Bool {
        guard !event.dedupe.isEmpty, windowMs > 0 else { return false }
        while let id = seenEnds.popDue(nowUnixMs: nowUnixMs, where: { _, _ in true }) {
            guard let key = seenKeys.removeValue(forKey: id), (seen[key] ?? 0) <= nowUnixMs else {
                continue
            }
            seen[key] = nil
        }
        let key = SeenKey(seed: seed, event.source, event.dedupe)
        guard (seen[key] ?? 0) <= nowUnixMs else { return true }
        remember(key, untilUnixMs: nowUnixMs + windowMs)
        return false
    }

    /// Remembers pushes that their users may open.
    mutating func remember(_ shown: [OpenClaim], nowUnixMs: UInt64) {
        for claim in shown {
            remember(key(of: claim), untilUnixMs: nowUnixMs + OpenClaim.lifeMs)
        }
    }

    func wereShown(_ claims: [OpenClaim], nowUnixMs: UInt64) -> [Bool] {
        claims.map { (seen[key(of: $0)] ?? 0) > nowUnixMs }
    }

    private func key(of claim: OpenClaim) -> SeenKey {
        SeenKey(seed: seed, OpenClaim.shown, claim.key)
    }

    mutating func remember(_ key: SeenKey, untilUnixMs: UInt64) {
        seen[key] = untilUnixMs
        lastID += 1
        seenKeys[lastID] = key
        seenEnds.add(lastID, dueUnixMs: untilUnixMs)
    }

    /// Adds the deliveries of an event.
    ///
    /// Those that are taken over at once are held until a given time.
    mutating func add(
        _ item: StoreEntry.Item, receivedUnixMs: UInt64, nowUnixMs: UInt64, untilUnixMs: UInt64,
        _ token: LeaseToken
    ) -> Set<LaneKey> {
        var given: Set<LaneKey> = []
        for delivery in item.deliveries {
            if delivery.kind == .report { supersede(delivery) }
            if delivery.kind == .report || item.waitsMs[delivery.id] != nil {
                noteOvertakable(delivery)
            }
            let isTaken = item.taken.contains(delivery.id)
            entries[delivery.id] = Entry(
                delivery: delivery, event: item.event, receivedUnixMs: receivedUnixMs,
                dueUnixMs: isTaken
                    ? untilUnixMs : nowUnixMs + (item.waitsMs[delivery.id] ?? 0),
                holder: isTaken ? token : nil)
            if isTaken {
                lanes[LaneKey(delivery), default: Lane()].held.add(
                    delivery.id, dueUnixMs: untilUnixMs)
            } else {
                put(delivery.id)
                given.insert(LaneKey(delivery))
            }
        }
        return given
    }

    /// Turns a dead letter back into a delivery with its original lifetime.
    mutating func replay(
        _ dead: Dead, nowUnixMs: UInt64, _ token: LeaseToken
    ) -> Set<LaneKey> {
        let letter = dead.letter
        let receivedUnixMs = nowUnixMs - min(nowUnixMs, Replay.ageMs)
        let content = SharedNotification(
            letter.notification, eventType: dead.content.eventType,
            eventKey: dead.content.eventKey, receivedUnixMs: receivedUnixMs)
        let lifeMs = dead.deadlineUnixMs - min(dead.deadlineUnixMs, letter.receivedUnixMs)
        var delivery = dead.delivery
        delivery.content = content
        if delivery.deadlineUnixMs != 0 { delivery.deadlineUnixMs = nowUnixMs + lifeMs }
        delivery.setAccepted(dead.acceptedUnixMs)
        let event = Event(
            id: letter.eventID, source: letter.source, type: letter.type, subject: letter.subject)
        let given = add(
            StoreEntry.Item(event: event, deliveries: [delivery]), receivedUnixMs: receivedUnixMs,
            nowUnixMs: nowUnixMs, untilUnixMs: nowUnixMs, token)
        entries[letter.id]?.stale = dead.stale
        noteOvertakable(delivery)
        return given
    }

    /// Replaces an older report about the device with a newer one.
    private mutating func supersede(_ report: Delivery) {
        let key = LaneKey(report)
        let old = entries.values.filter {
            $0.delivery.stableID == report.stableID && LaneKey($0.delivery) == key
        }
        for entry in old { entries[entry.delivery.id] = nil }
    }

    mutating func noteOvertakable(_ delivery: Delivery) {
        let own = delivery.supersession
        for key in [own?.shown, own?.badge].compactMap({ $0 }) {
            overtakable[key, default: []].insert(delivery.id)
        }
    }

    /// Marks what is older than something that was accepted.
    mutating func mark(_ new: Supersession) {
        for (key, stale) in [(new.shown, Staleness.shown), (new.badge, .badge)] {
            guard let key, let ids = overtakable[key] else { continue }
            for id in ids {
                if let entry = entries[id] {
                    if entry.delivery.order < new.order { entries[id]?.stale.insert(stale) }
                } else if let letter = dead[id] {
                    if letter.delivery.order < new.order { dead[id]?.stale.insert(stale) }
                } else {
                    overtakable[key]?.remove(id)
                }
            }
            if overtakable[key]?.isEmpty == true { overtakable[key] = nil }
        }
    }

    mutating func put(_ id: UInt64) {
        guard let entry = entries[id] else { return }
        lanes[LaneKey(entry.delivery), default: Lane()].waiting[Self.rank(entry.delivery)].add(
            id, dueUnixMs: entry.dueUnixMs)
    }

    // MARK: Looking

    /// Makes deliveries due that wait only for their provider.
    mutating func hasten(_ lane: LaneKey, nowUnixMs: UInt64) {
        for (id, entry) in entries
        where entry.holder == nil && entry.delivery.freeAttempts > 0
            && entry.dueUnixMs > nowUnixMs && LaneKey(entry.delivery) == lane
        {
            giveBack(id, dueUnixMs: nowUnixMs)
        }
    }

    mutating func waitingLanes(nowUnixMs: UInt64, dueForMs: UInt64?) -> [LaneKey] {
        for lane in lanes.keys { expire(lane, nowUnixMs: nowUnixMs) }
        let due = dueForMs.map { nowUnixMs - min(nowUnixMs, $0) } ?? .max
        return lanes.keys.filter { lane in
            (0..<3).contains {
                (firstWaiting(lane, $0) ?? .max) <= due && firstWaiting(lane, $0) != nil
            }
        }.sorted()
    }

    private mutating func firstWaiting(_ lane: LaneKey, _ rank: Int) -> UInt64? {
        lanes[lane]?.waiting[rank].firstDue { [entries] in Self.isWaiting(entries[$0], $1) }
    }

    /// When the lane's next delivery can be leased.
    mutating func nextDue(_ lane: LaneKey) -> UInt64? {
        var next = lanes[lane]?.held.firstDue { [entries] in Self.isHeld(entries[$0], $1) }
        for rank in 0..<3 {
            if let due = firstWaiting(lane, rank) { next = min(next ?? .max, due) }
        }
        return next
    }
}
