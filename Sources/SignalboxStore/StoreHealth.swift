internal import SignalboxThreads

/// Whether writes fail, and when to try again what must not be lost.
///
/// The first retry comes with the next commit, for a disk that is full has room for outcomes alone. After that, a
/// pause that grows: a damaged file stays damaged.
struct StoreHealth {
    private static let pauseMaxNs: UInt64 = 5_000_000_000
    private let failing: SharedCount
    private var pauseNs: UInt64 = 0
    private var retryNs: UInt64 = 0

    init(_ failing: SharedCount) { self.failing = failing }

    var isFailing: Bool { failing.value > 0 }

    /// What failed was tried again, and failed again.
    var isStuck: Bool { pauseNs > 0 }

    /// It is time to try again.
    var isDue: Bool { retryNs == 0 || retryNs <= SystemClock.monotonicNs }

    /// When the store's thread has to wake for it at the latest.
    var wakeNs: UInt64 { max(retryNs, SystemClock.monotonicNs + 100_000_000) }

    func failed() { failing.set(1) }

    /// All that failed was tried again.
    mutating func retried(isWell: Bool) {
        failing.set(isWell ? 0 : 1)
        pauseNs = isWell ? 0 : min(Self.pauseMaxNs, max(100_000_000, pauseNs * 2))
        retryNs = isWell ? 0 : SystemClock.monotonicNs + pauseNs
    }

    /// The store closes: there is no time for pauses.
    mutating func hurry() { retryNs = 0 }
}
