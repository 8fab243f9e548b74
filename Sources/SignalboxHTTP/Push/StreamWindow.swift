/// A request on a connection: what its end needs to know of its beginning.
struct Flight {
    /// When it was sent, in monotonic nanoseconds.
    var sentNs: UInt64
    /// How many answers the connection had brought by then.
    var answersBefore: UInt64
    /// It was reported as timed out, and its stream stays open for a late answer.
    var isOverdue = false
}

/// How many requests a connection carries at once when its peer is slow. A value without clock.
///
/// There is no limit below the peer's own until an answer takes more than half of the request
/// time-out. By Little's law, as many requests fit as were answered while that one was in flight, so
/// the limit becomes the number that would be answered within half of the time-out. That is a rate
/// and not a factor, so a wave of time-outs cuts no deeper than its slowest part says. Prompt answers
/// raise the limit again: fast ones double it per round trip, others add one per round trip.
struct StreamWindow {
    /// Most requests in flight, at least 1; `Int.max`: as many as the peer allows.
    private(set) var limit: Int
    private let timeoutNs: UInt64
    /// How far the prompt answers have come to raise the limit by one.
    private var prompt = 0

    init(timeoutNs: UInt64, limit: Int = .max) {
        self.timeoutNs = timeoutNs
        self.limit = limit
    }

    /// An answer came. `answers`: how many came on the connection while it was awaited.
    mutating func answered(_ flight: Flight, answers: UInt64, peerMax: Int, nowNs: UInt64) {
        let took = nowNs - min(nowNs, flight.sentNs)
        if took > timeoutNs / 2 {
            // A peer may be slow however little it is given: without time-outs an eighth stays.
            return cut(to: max(fitting(answers, in: took), peerMax / 8))
        }
        guard limit != .max else { return }
        prompt += took < timeoutNs / 8 ? limit : 1
        guard prompt >= limit else { return }
        prompt = 0
        limit = limit + 1 < peerMax ? limit + 1 : .max
    }

    /// A request timed out. `answers`: how many others were answered while it was in flight.
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
