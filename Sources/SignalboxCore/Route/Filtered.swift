/// What a filter made of an event for its recipients on a route.
public struct Filtered: Sendable {
    /// Recipients that go on together.
    public struct Part: Sendable {
        /// Indexes into the recipients.
        public var recipients: [Int]
        /// What replaces the event's data, parsed; nil: nothing does.
        public var data: JSONText?
        /// When their pushes may be sent, in Unix milliseconds; 0: at once.
        public var notBeforeUnixMs: UInt64

        /// Makes a part.
        public init(recipients: [Int], data: JSONText? = nil, notBeforeUnixMs: UInt64 = 0) {
            self.recipients = recipients
            self.data = data
            self.notBeforeUnixMs = notBeforeUnixMs
        }
    }

    /// Those that go on; each recipient is in one at most.
    public var parts: [Part] = []
    /// Those that get nothing.
    public var drops: [FanOut.Skip] = []

    /// Nobody.
    public init() {}
}
