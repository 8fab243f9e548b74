/// One line per key and interval, with a count, so that a lasting condition does not fill the log.
///
/// The first line of a key is written at once; those in the following interval are merged into one.
package struct RepeatedLines<Key: Hashable & Sendable, Detail: Sendable>: Sendable {
    /// A line to write now.
    package struct Line: Sendable {
        package var key: Key
        /// How many occurrences it stands for.
        package var count: Int
        /// The detail of the last occurrence.
        package var detail: Detail
    }

    private struct Run {
        var line: Line
        var writtenMs: UInt64
    }

    private let intervalMs: UInt64
    private let keysMax: Int
    private var runs: [Key: Run] = [:]

    /// With more than `keysMax` keys at a time, what was counted is dropped, and all are written again.
    package init(intervalMs: UInt64, keysMax: Int = .max) {
        self.intervalMs = intervalMs
        self.keysMax = keysMax
    }

    /// How many keys occurred lately.
    package var count: Int { runs.count }

    package func has(_ key: Key) -> Bool { runs[key] != nil }

    /// Counts occurrences; returns the line to write now, if any.
    package mutating func note(
        _ key: Key, count: Int = 1, detail: Detail, nowMs: UInt64
    ) -> Line? {
        guard var run = runs[key] else {
            if runs.count >= keysMax { runs = [:] }
            runs[key] = Run(line: Line(key: key, count: 0, detail: detail), writtenMs: nowMs)
            return Line(key: key, count: count, detail: detail)
        }
        run.line.count += count
        run.line.detail = detail
        let line = take(&run, nowMs: nowMs)
        runs[key] = run
        return line
    }

    /// Lines whose interval is over; keys not seen for an interval are dropped.
    package mutating func due(nowMs: UInt64) -> [Line] {
        var lines: [Line] = []
        for (key, run) in runs where nowMs >= run.writtenMs + intervalMs {
            if run.line.count == 0 {
                runs[key] = nil
                continue
            }
            var run = run
            if let line = take(&run, nowMs: nowMs) { lines.append(line) }
            runs[key] = run
        }
        return lines
    }

    /// All that was counted and not written.
    package mutating func flush() -> [Line] {
        defer { runs = [:] }
        return runs.values.map(\.line).filter { $0.count > 0 }
    }

    private func take(_ run: inout Run, nowMs: UInt64) -> Line? {
        guard nowMs >= run.writtenMs + intervalMs else { return nil }
        defer {
            run.line.count = 0
            run.writtenMs = nowMs
        }
        return run.line
    }
}
