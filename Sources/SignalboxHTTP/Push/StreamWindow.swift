/// What must be remembered about a request in flight until it ends.
struct Flight {
    /// When it was sent, in monotonic nanoseconds.
    var sentNs: UInt64
    /// Number of answers on the connection before it.
    var answersBefore: UInt64
    /// Whether it was reported as timed out; its stream stays open for a late answer.
    var isOverdue = false
}

/// Limits the requests in flight on a connection whose peer is slow. A value without a clock.
///
/// There is no limit below the peer's own until an answer takes more than half of the request
/// time-out. By Little's law, as many requests fit as were answered while that one was in flight, so
/// the limit becomes the number that would be answered within half of the time-out. The limit follows
/// the measured rate, so a wave of time-outs lowers it no further than its slowest part does. Prompt answers
/// raise the limit again: fast ones double it per round trip, others add one per round trip.
struct StreamWindow {
    /// Most requests in flight, at least 1; `Int.max` for as many as the peer allows.
    private(set) var limit: Int
    private let timeoutNs: UInt64
    /// Prompt answers counted toward the next increase of the limit.
    private var prompt = 0

    init(timeoutNs: UInt64, limit: Int = .max) {
        self.timeoutNs = timeoutNs
        self.limit = limit
    }

    /// Records an answer. `answers` is how many came on the connection during the request's flight.
    mutating func answered(_ flight: Flight, answers: UInt64, peerMax: Int, nowNs: UInt64) {
        let took = nowNs - min(nowNs, flight.sentNs)
        if took > timeoutNs / 2 {
            // A peer may be slow under any load: without time-outs, at least an eighth of its limit stays.
            return cut(to: max(fitting(answers, in: took), peerMax / 8))
        }
        guard limit != .max else { return }
        prompt += took < timeoutNs / 8 ? limit : 1
        guard prompt >= limit else { return }
        prompt = 0
        limit = limit + 1 < peerMax ? limit + 1 : .max
    }

    /// Records a time-out. `answers` is how many other requests were answered during its flight.
    mutating func timedOut(answers: UInt64) {
        cut(to: fitting(answers, in: timeoutNs))
    }

    private func fitting(_ answers: UInt64, in took: UInt64) -> Int {
        Int(Double(answers) * Double(timeoutNs / 2) / Double(max(1, took)))
    }

    private mutating func cut(to count: Int) {
        limit = min(limit, max(1, count))
        prompt = 0
    }
}
