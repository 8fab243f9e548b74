/// What holds after every event, whatever its order.
extension LaneState {
    /// What does not hold; nil if everything does. Debug builds, and with them the simulation, ask after every event.
    var violation: String? {
        if let words = window.violation { return words }
        if hold?.cause != health.breaker.cause {
            return "the hold is for \(hold?.cause, default: "nothing"), the breaker is open for "
                + "\(health.breaker.cause, default: "nothing")"
        }
        if disk.unsettledCount < 0 || aside.unstoredCount < 0 {
            return "more was stored than was sent to the store"
        }
        if window.count > 0, token == nil { return "it has deliveries that nobody leased to it" }
        if isStopped, window.inFlightCount > 0 { return "it has stopped with deliveries in flight" }
        return nil
    }
}

extension LaneWindow {
    /// As `LaneState.violation`.
    var violation: String? {
        if readyCount < 0 || inFlightCount < 0 {
            return "it holds \(readyCount) and \(inFlightCount)"
        }
        if count > countMax { return "it holds \(count) of at most \(countMax)" }
        if stages.count < count { return "\(stages.count) stages of \(count) deliveries" }
        return nil
    }
}
