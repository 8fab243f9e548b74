internal import SignalboxCore

/// When and why a lane held deliveries, to explain late pushes.
///
/// It ends with its lane, which is safe: a lane that retires has nothing waiting.
struct LaneDelays: Sendable {
    /// A period in which nothing was sent.
    struct Delay: Sendable, Equatable {
        /// The paused route; nil if the whole lane was held.
        var route: String?
        var sinceUnixMs: UInt64
        var untilUnixMs: UInt64
        /// Whether an operator paused it; otherwise the provider was down or refused it.
        var isPause: Bool
        /// `paused by anna: wrong text`.
        var words: String
    }

    /// Only the newest are kept.
    static let countMax = 16

    private(set) var past: [Delay] = []

    /// Notes one that is over.
    mutating func add(_ delay: Delay) {
        guard delay.untilUnixMs > delay.sinceUnixMs else { return }
        if past.count >= Self.countMax { past.removeFirst() }
        past.append(delay)
    }
}

extension LaneState {
    /// A push counts as late if it is this old, in milliseconds, and was held that long.
    static let lateMs: UInt64 = 10_000

    /// How a delivery leaves the lane. A late one says how long it was held, and why.
    func ended(
        _ delivery: Delivery, _ kind: LaneEnding.Kind, _ outcome: Outcome, _ now: LaneTime,
        supersedes: Supersession? = nil
    ) -> LaneEnding {
        var ending = LaneEnding(
            delivery, kind, outcome, unixMs: now.unixMs, supersedes: supersedes)
        let received = delivery.content.receivedUnixMs
        // The usual case: not late.
        guard received > 0, received + Self.lateMs <= now.unixMs else { return ending }
        switch kind {
        case .delivered, .failed: explain(&ending, receivedUnixMs: received, now)
        case .retry, .released, .aside, .cancelled, .superseded: break
        }
        return ending
    }

    private func explain(_ ending: inout LaneEnding, receivedUnixMs: UInt64, _ now: LaneTime) {
        var heldMs: UInt64 = 0
        var longest: (ms: UInt64, words: String) = (0, "")
        for delay in delays(until: now.unixMs) {
            if let route = delay.route, route != ending.delivery.route { continue }
            let start = max(receivedUnixMs, delay.sinceUnixMs)
            let ms = delay.untilUnixMs - min(delay.untilUnixMs, start)
            heldMs += ms
            if delay.isPause { ending.pausedMs += ms }
            if ms > longest.ms { longest = (ms, delay.words) }
        }
        // The pauses of a sender and its route may overlap.
        let ageMs = now.unixMs - receivedUnixMs
        ending.pausedMs = min(ending.pausedMs, ageMs)
        guard heldMs >= Self.lateMs else { return }
        let words = "held \(DurationText.rough(ms: min(heldMs, ageMs))), \(longest.words)"
        let detail = ending.outcome.detail
        ending.outcome.detail = detail.isEmpty ? words : "\(detail); \(words)"
    }

    /// Past delays, and current ones up to `unixMs`.
    private func delays(until unixMs: UInt64) -> [LaneDelays.Delay] {
        delays.past + (hold.map { [Self.delay($0, until: unixMs)] } ?? [])
            + Self.delays(paused, until: unixMs)
    }

    static func delay(_ hold: LaneHold, until unixMs: UInt64) -> LaneDelays.Delay {
        LaneDelays.Delay(
            sinceUnixMs: hold.sinceUnixMs, untilUnixMs: max(unixMs, hold.sinceUnixMs),
            isPause: false,
            words: [hold.cause.rawValue, hold.reason, hold.said].filter { !$0.isEmpty }
                .joined(separator: ", "))
    }

    /// The pauses in an order; with `next`, those it lifts.
    static func delays(
        _ order: LanePause, until unixMs: UInt64, without next: LanePause? = nil
    ) -> [LaneDelays.Delay] {
        func delay(_ note: PauseNote, _ route: String?) -> LaneDelays.Delay {
            LaneDelays.Delay(
                route: route, sinceUnixMs: note.sinceUnixMs,
                untilUnixMs: max(unixMs, note.sinceUnixMs), isPause: true,
                words: "paused \(note.words)")
        }
        var out: [LaneDelays.Delay] = []
        if let note = order.whole, next?.whole == nil { out.append(delay(note, nil)) }
        for (route, note) in order.routes where next?.routes[route] == nil {
            out.append(delay(note, route))
        }
        return out
    }
}
