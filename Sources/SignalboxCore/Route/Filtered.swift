/// What a filter made of an event for its recipients on a route.
public struct Filtered: Sendable {
    /// Recipients that a filter passes on together.
    public struct Part: Sendable {
        /// Indexes into the recipients.
        public var recipients: [Int]
        /// What replaces the event's data, parsed; nil if the data is unchanged.
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

    /// The recipients that are passed on; each is in at most one part.
    public var parts: [Part] = []
    /// The recipients that get nothing.
    public var drops: [FanOut.Skip] = []

    /// Passes nobody on.
    public init() {}
}
