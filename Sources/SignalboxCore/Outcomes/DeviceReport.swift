/// A report about a device, for a source's system.
public struct DeviceReport: Sendable {
    /// Stands for the stream of outcomes in place of an instance.
    public static let stream = ""

    /// The plugin instance that sends the report, or `stream`.
    public var instance: String
    /// What happened.
    public var change: DeviceChange
    /// The event whose delivery revealed it; 0 if none did.
    public var eventID: UInt64
    /// Of equal reports within an hour, only the first is sent.
    public var isDeduped: Bool

    /// Makes a report.
    public init(
        to instance: String, _ change: DeviceChange, eventID: UInt64 = 0, isDeduped: Bool = false
    ) {
        self.instance = instance
        self.change = change
        self.eventID = eventID
        self.isDeduped = isDeduped
    }
}
