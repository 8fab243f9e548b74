/// A line for the log about deliveries of a lane.
public struct LaneLine: Sendable, Equatable {
    /// What happened to them.
    public enum What: Sendable, Hashable {
        /// They will be tried again.
        case retried
        /// They failed for good.
        case failed
        /// Their leases were lost, or could not be extended in time.
        case lost
    }

    /// What happened.
    public var what: What
    /// From a closed list per sender.
    public var reason: String
    /// How many deliveries the line stands for.
    public var count: Int
    /// For people; no token, secret or body.
    public var detail: String
}

/// One line per reason and interval: an outage that fails 20,000 attempts is not 20,000 lines.
struct LaneLines: Sendable {
    static let intervalMs: UInt64 = 10_000
    /// Reasons come from a closed list; a plugin that keeps inventing new ones gets one line for the excess.
    static let reasonsMax = 32

    private struct Key: Hashable {
        var what: LaneLine.What
        var reason: String
    }

    private var lines = RepeatedLines<Key, String>(intervalMs: intervalMs)

    /// Counts deliveries; returns the line to write now, if any.
    mutating func note(
        _ what: LaneLine.What, _ reason: String, count: Int = 1, detail: String, nowMs: UInt64
    ) -> LaneLine? {
        var key = Key(what: what, reason: reason)
        if !lines.has(key), lines.count >= Self.reasonsMax { key.reason = "other" }
        return lines.note(key, count: count, detail: detail, nowMs: nowMs).map(Self.line)
    }

    /// Lines whose interval is over; reasons not seen for an interval are dropped.
    mutating func due(nowMs: UInt64) -> [LaneLine] { Self.sorted(lines.due(nowMs: nowMs)) }

    /// All that was counted and not written.
    mutating func flush() -> [LaneLine] { Self.sorted(lines.flush()) }

    private static func sorted(_ lines: [RepeatedLines<Key, String>.Line]) -> [LaneLine] {
        lines.map(line).sorted { $0.reason < $1.reason }
    }

    private static func line(_ line: RepeatedLines<Key, String>.Line) -> LaneLine {
        LaneLine(
            what: line.key.what, reason: line.key.reason, count: line.count, detail: line.detail)
    }
}
