/// How many deliveries this gateway took over from others whose leases had expired: reported once a minute for each.
struct Takeovers {
    private static let pauseMs: Int64 = 60_000

    private var counts: [Int64: Int] = [:]
    /// When a takeover from a life was last reported, in Unix milliseconds.
    private var toldUnixMs: [Int64: Int64] = [:]

    /// Deliveries that a life held.
    mutating func add(_ count: Int, from life: Int64) { counts[life, default: 0] += count }

    /// The takeovers to report now, by life.
    func due(nowUnixMs: Int64) -> [Int64: Int] {
        counts.filter { life, _ in
            toldUnixMs[life].map { nowUnixMs >= $0 + Self.pauseMs } ?? true
        }
    }

    /// Takeovers from these lives were reported.
    mutating func told(_ lives: some Sequence<Int64>, nowUnixMs: Int64) {
        toldUnixMs = toldUnixMs.filter { nowUnixMs < $0.value + Self.pauseMs }
        for life in lives {
            counts[life] = nil
            toldUnixMs[life] = nowUnixMs
        }
    }
}
