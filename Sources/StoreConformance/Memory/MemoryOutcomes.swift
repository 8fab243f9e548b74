internal import SignalboxCore

/// The stream of outcomes as a value.
struct MemoryOutcomes: Sendable {
    private(set) var next: UInt64 = 1
    private var rows: [(row: OutcomeRow, unixMs: UInt64)] = []
    private(set) var receivers: [String: UInt64] = [:]
    private var claims: [String: (owner: LeaseToken, untilUnixMs: UInt64)] = [:]

    mutating func append(_ pack: OutcomePack, nowUnixMs: UInt64) {
        guard !pack.isEmpty else { return }
        let row = OutcomeRow(first: next, count: pack.count, bytes: pack.bytes)
        rows.append((row, nowUnixMs))
        next += UInt64(pack.count)
        trim(nowUnixMs: nowUnixMs)
    }

    mutating func setReceivers(_ names: [String]) -> [String: UInt64] {
        receivers = Dictionary(
            names.map { ($0, receivers[$0] ?? next) }, uniquingKeysWith: { first, _ in first })
        removeTaken()
        return receivers
    }

    /// Makes an owner the sender to a receiver, unless another owner that is still alive holds that claim.
    mutating func claim(
        _ receiver: String, _ owner: LeaseToken, nowUnixMs: UInt64, forMs: UInt64,
        isAlive: (LeaseToken) -> Bool
    ) -> UInt64? {
        if let known = claims[receiver], known.owner != owner, known.untilUnixMs > nowUnixMs,
            isAlive(known.owner)
        {
            return nil
        }
        claims[receiver] = (owner, nowUnixMs + forMs)
        return receivers[receiver]
    }

    mutating func taken(by receiver: String, next place: UInt64) {
        guard let known = receivers[receiver], known < place else { return }
        receivers[receiver] = place
        removeTaken()
    }

    func rows(from first: UInt64) -> (rows: [OutcomeRow], hasMore: Bool) {
        var (out, bytes) = ([OutcomeRow](), 0)
        for (row, _) in rows where row.first + UInt64(row.count) > first {
            guard bytes < OutcomeBatch.bytesMax else { return (out, true) }
            bytes += row.bytes.count
            out.append(row)
        }
        return (out, false)
    }

    private mutating func removeTaken() {
        let floor = receivers.values.min() ?? next
        rows.removeAll { $0.row.first + UInt64($0.row.count) <= floor }
    }

    /// Removes rows that are too old, and the oldest ones above the limit.
    private mutating func trim(nowUnixMs: UInt64) {
        let oldest = nowUnixMs - min(nowUnixMs, OutcomeLimits.ageMs)
        let young = rows.first { $0.unixMs >= oldest }?.row.first ?? next
        let floor = max(young, next - min(next, OutcomeLimits.countMax))
        receivers = receivers.mapValues { max($0, floor) }
        removeTaken()
    }

    // MARK: Copies

    /// What a receiver has not taken.
    var stored: [(row: OutcomeRow, unixMs: UInt64)] {
        let floor = receivers.values.min() ?? next
        return rows.filter { $0.row.first + UInt64($0.row.count) > floor }
    }

    mutating func restore(next: UInt64) { self.next = next }

    mutating func restore(_ receiver: String, next: UInt64) { receivers[receiver] = next }

    mutating func restore(_ row: OutcomeRow, unixMs: UInt64) { rows.append((row, unixMs)) }
}
