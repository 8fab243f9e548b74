/// After an outage of the database, leases that expired meanwhile are left to their owners for a while.
///
/// Their owners could neither extend them nor store the outcomes of their pushes, and do so first when the database
/// is back. Another gateway that leased such deliveries at once would send them twice. All times are the database's.
struct TakeoverGrace {
    /// Longer than the longest pause between two attempts to connect.
    static let ms: Int64 = 5_000

    private let leaseMs: Int64
    private var lostAtUnixMs: Int64?
    private var endsAtUnixMs: Int64?

    init(leaseMs: UInt64) { self.leaseMs = Int64(clamping: leaseMs) }

    /// The database could not be reached; `sinceUnixMs`: when it was asked.
    mutating func lost(_ sinceUnixMs: Int64) {
        endsAtUnixMs = nil
        if lostAtUnixMs == nil { lostAtUnixMs = sinceUnixMs }
    }

    /// A transaction was committed that began at `sinceUnixMs`.
    mutating func reached(_ nowUnixMs: Int64, sinceUnixMs: Int64) {
        // Leases outlast half of their time: they are extended earlier.
        if lostAtUnixMs == nil, nowUnixMs - sinceUnixMs > leaseMs / 2 { lostAtUnixMs = sinceUnixMs }
        guard let lost = lostAtUnixMs else { return }
        if let end = endsAtUnixMs {
            if nowUnixMs >= end { (lostAtUnixMs, endsAtUnixMs) = (nil, nil) }
        } else if nowUnixMs - lost > leaseMs / 2 {
            endsAtUnixMs = nowUnixMs + Self.ms
        } else {
            lostAtUnixMs = nil
        }
    }

    /// Leases of others that ended after this still count.
    func othersDue(_ nowUnixMs: Int64) -> Int64 {
        if let end = endsAtUnixMs, nowUnixMs >= end { return nowUnixMs }
        return lostAtUnixMs ?? nowUnixMs
    }

    /// How long that lasts.
    func leftMs(_ nowUnixMs: Int64) -> Int64 {
        guard lostAtUnixMs != nil else { return 0 }
        return max(0, endsAtUnixMs.map { $0 - nowUnixMs } ?? Self.ms)
    }
}
