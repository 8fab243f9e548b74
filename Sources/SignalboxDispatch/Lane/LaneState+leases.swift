public import SignalboxCore

/// Under which token the lane holds what is in memory, and for how long.
extension LaneState {
    /// Takes leased deliveries in; what is held under an older token is somebody else's by now. By how many more
    /// are in memory.
    mutating func take(_ deliveries: [Delivery], under token: LeaseToken) -> Int {
        guard !deliveries.isEmpty else { return 0 }
        var dropped = 0
        if let known = self.token, known != token {
            // An answer that was overtaken by one of a later life.
            if known.owner == token.owner, known.epoch > token.epoch { return 0 }
            dropped = dropAll()
        }
        self.token = token
        return window.arrive(deliveries) - dropped
    }

    /// Leases that have lasted a good part of their time, to be extended.
    public mutating func leasesToExtend(_ now: LaneTime) -> (ids: [UInt64], token: LeaseToken)? {
        guard let token, now.steadyMs >= extendedMs + rules.leaseMs / 3 else { return nil }
        extendedMs = now.steadyMs
        let ids = window.heldIDs
        return ids.isEmpty ? nil : (ids, token)
    }

    /// Somebody else has some of what the lane thought it held, or all of it.
    public mutating func refused(_ refusal: LeaseRefusal, under token: LeaseToken) -> LaneTodo {
        var todo = LaneTodo()
        if refusal.isFenced {
            guard self.token == token else { return todo }
            todo = turnSoon()
            todo.arrived = -dropAll()
        } else {
            // What is in flight ends here all the same; what is ready is not sent.
            let lost = refusal.lost.filter { window.withdraw($0) }
            window.committed(lost)
            todo.arrived = -lost.count
        }
        return todo
    }

    private mutating func dropAll() -> Int {
        token = nil
        disk.hasBacklog = true
        return window.removeAll().count
    }
}
