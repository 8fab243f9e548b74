/// Items that were in flight when their process ended. One of them may be the cause, so they are retried
/// one at a time until it is found.
///
/// A value type: the time is passed in.
struct PoisonTracker: Sendable {
    /// An item is the cause after two crashes of processes that got nothing else before or with it, or four of
    /// processes that had handled others: a process that crashes every so many items crashes on any of them.
    private static let provenAt = 4
    private static let countMax = 8_192
    private static let trialMs: UInt64 = 600_000

    private var crashes: [UInt64: Int] = [:]
    private var untilMs: UInt64 = 0

    /// Whether items must be retried one at a time.
    func isOn(nowMs: UInt64) -> Bool { !crashes.isEmpty && nowMs < untilMs }

    /// Whether an item is one of them.
    func has(_ item: UInt64, nowMs: UInt64) -> Bool {
        isOn(nowMs: nowMs) && crashes[item] != nil
    }

    /// The process ended while these were in flight, and nothing else if `isAlone`; `isFirst`: it had handled no other.
    /// Returns whether a single item is now proven to be the cause.
    mutating func crashed(
        _ items: [UInt64], isAlone: Bool, isFirst: Bool = true, nowMs: UInt64
    ) -> Bool {
        // After the trial period, or if there are too many, all suspects are forgotten.
        if nowMs >= untilMs || crashes.count + items.count > Self.countMax { crashes = [:] }
        untilMs = nowMs + Self.trialMs
        guard isAlone, items.count == 1, let item = items.first else {
            for item in items where crashes[item] == nil { crashes[item] = 0 }
            return false
        }
        let count = (crashes[item] ?? 0) + (isFirst ? 2 : 1)
        crashes[item] = count < Self.provenAt ? count : nil
        return count >= Self.provenAt
    }

    /// Clears items that did no harm.
    mutating func cleared(_ items: some Sequence<UInt64>) {
        guard !crashes.isEmpty else { return }
        for item in items { crashes[item] = nil }
    }
}
