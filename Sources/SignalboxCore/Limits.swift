/// Limits that several modules share. docs/limits.md lists these and all others.
public struct Limits: Sendable {
    /// Largest body of an inbound request, in bytes; more is answered 413.
    public var requestBodyBytesMax = 1 << 20
    /// Most recipients that one event names; more is answered 413.
    public var devicesPerEventMax = 10_000
    /// Most events in one request; more is answered 413.
    public var eventsPerRequestMax = 1_000
    /// Most bytes of data in a batch of a source's events.
    public var sourceBatchBytesMax = 4 << 20
    /// Most bytes of data in one part that a filter passes on, and in all parts of a call.
    public static let filterDataBytesMax = (ofPart: 1 << 20, ofCall: 4 << 20)
    /// Longest time that a filter may have pushes wait, in milliseconds.
    public static let filterWaitMsMax: UInt64 = 30 * 86_400_000
    /// Most deliveries waiting on disk; more is answered 503 with Retry-After.
    public var deliveriesWaitingMax = 10_000_000
    /// Most deliveries of one sender and app in memory; the others wait on disk.
    public var deliveriesInMemoryMax = 4_096
    /// Most senders and apps with connections of their own at a time; the others wait on disk.
    public var lanesMax = 4_096
    /// Duration of a lease, in milliseconds; the gateway gives up on outcomes that are unknown by then.
    public var leaseMs: UInt64 = 120_000
    /// Most deliveries handed to a plugin in one call.
    public var batchMax = 512

    /// The default limits.
    public init() {}
}
