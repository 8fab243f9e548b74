/// How many deliveries this gateway took over from others whose leases had ended: told once a minute for each of these.
struct Takeovers {
    private static let pauseMs: Int64 = 60_000

    private var counts: [Int64: Int] = [:]
    /// When a life was last told of, in Unix milliseconds.
    private var toldUnixMs: [Int64: Int64] = [:]

    /// Deliveries that a life held.
    mutating func add(_ count: Int, from life: Int64) { counts[life, default: 0] += count }

    /// What is to be told now, by life.
    func due(nowUnixMs: Int64) -> [Int64: Int] {
        counts.filter { life, _ in
            toldUnixMs[life].map { nowUnixMs >= $0 + Self.pauseMs } ?? true
        }
    }

    /// It was told.
    mutating func told(_ lives: some Sequence<Int64>, nowUnixMs: Int64) {
        toldUnixMs = toldUnixMs.filter { nowUnixMs < $0.value + Self.pauseMs }
        for life in lives {
            counts[life] = nil
            toldUnixMs[life] = nowUnixMs
        }
    }
}
