internal import SignalboxCore

/// Parts of statements about the database's clock, and about heartbeats, which go by it.
enum ClockSQL {
    /// Now, in Unix milliseconds.
    static let nowMs = "(extract(epoch FROM clock_timestamp()) * 1000)::bigint"

    /// Whether the gateway of a row has shown itself lately. The heartbeat of one that was stopped is negative.
    static let isLive = "heartbeat > \(nowMs) - \(Fleet.silentAfterMs)"
}
