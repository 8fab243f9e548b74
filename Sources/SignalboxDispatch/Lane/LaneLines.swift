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
    /// From a closed list of the sender.
    public var reason: String
    /// How many deliveries the line stands for.
    public var count: Int
    /// For people; no token, secret or body.
    public var detail: String
}

/// One line per reason and interval, with a count: an outage that fails 20,000 attempts is not 20,000 lines.
///
/// The first of a reason is written at once; those of the interval that follows come as one line.
struct LaneLines: Sendable {
    static let intervalMs: UInt64 = 10_000
    /// Reasons come from a closed list; a plugin that invents them all the time gets one line for the rest.
    static let reasonsMax = 32

    private struct Key: Hashable {
        var what: LaneLine.What
        var reason: String
    }

    private struct Run {
        var line: LaneLine
        var writtenMs: UInt64
    }

    private var runs: [Key: Run] = [:]

    /// Counts some; the line to write now, if there is one.
    mutating func note(
        _ what: LaneLine.What, _ reason: String, count: Int = 1, detail: String, nowMs: UInt64
    ) -> LaneLine? {
        var key = Key(what: what, reason: reason)
        if runs[key] == nil, runs.count >= Self.reasonsMax { key.reason = "other" }
        guard var run = runs[key] else {
            let line = LaneLine(what: what, reason: key.reason, count: 0, detail: "")
            runs[key] = Run(line: line, writtenMs: nowMs)
            return LaneLine(what: what, reason: key.reason, count: count, detail: detail)
        }
        run.line.count += count
        run.line.detail = detail
        let line = Self.take(&run, nowMs: nowMs)
        runs[key] = run
        return line
    }

    /// Lines whose interval is over; reasons that have not come up for an interval are forgotten.
    mutating func due(nowMs: UInt64) -> [LaneLine] {
        var lines: [LaneLine] = []
        for (key, run) in runs where nowMs >= run.writtenMs + Self.intervalMs {
            if run.line.count == 0 {
                runs[key] = nil
                continue
            }
            var run = run
            if let line = Self.take(&run, nowMs: nowMs) { lines.append(line) }
            runs[key] = run
        }
        return lines.sorted { $0.reason < $1.reason }
    }

    /// All that was counted and not written.
    mutating func flush() -> [LaneLine] {
        defer { runs = [:] }
        return runs.values.map(\.line).filter { $0.count > 0 }.sorted { $0.reason < $1.reason }
    }

    /// A clock that was set must not silence a lane.
    private static func take(_ run: inout Run, nowMs: UInt64) -> LaneLine? {
        guard nowMs >= run.writtenMs + intervalMs else { return nil }
        defer {
            run.line.count = 0
            run.writtenMs = nowMs
        }
        return run.line
    }
}
