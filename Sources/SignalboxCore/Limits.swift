/// Every bound of the gateway in one place; docs/limits.md says what happens at each.
public struct Limits: Sendable {
    /// Largest body of an inbound request, in bytes; more is answered 413.
    public var requestBodyBytesMax = 1 << 20
    /// Most devices in one event; more is answered 413.
    public var devicesPerEventMax = 10_000
    /// Most events in one request; more is answered 413.
    public var eventsPerRequestMax = 1_000
    /// Most deliveries waiting in memory over all senders; more is answered 503 with Retry-After.
    public var deliveriesWaitingMax = 200_000
    /// Most deliveries of one sender and app between lease and outcome.
    public var deliveriesInFlightMax = 4_096
    /// Most deliveries handed to a plugin in one call.
    public var batchMax = 512
    /// How long a stop waits for deliveries in flight, in milliseconds.
    public var drainMs: UInt64 = 30_000

    /// The shipped bounds.
    public init() {}
}
