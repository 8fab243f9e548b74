/// What a lane leaves to other gateways.
extension LaneState {
    /// Called periodically: keeps to its share and releases the rest, lowest priority and newest first.
    mutating func keepShare(_ now: LaneTime, isShared: Bool, into effects: inout LaneEffects) {
        share.look(
            now.steadyMs, isShared: isShared && !rules.traits.keepsOrder,
            isBusy: window.count > 0)
        window.shareMax = share.max
        guard share.max < .max, life == .open, window.count > share.max / 4 * 5, !isGivenUp(now)
        else { return }
        let surplus = window.takeReady(max: window.count - share.max)
        for delivery in surplus { effects.endings.append(released(delivery, now)) }
        // What waits for a connection is recalled, and released at the next call.
        if window.count > share.max { effects.isWithdrawal = true }
    }
}
