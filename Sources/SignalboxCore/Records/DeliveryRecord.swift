/// A delivery among others with shared contents: in a block of the store, or sent to an isolated plugin.
///
/// Its fields are the members of `sbx_delivery`; the notification is given as its index in the contents.
public struct DeliveryRecord: RecordValue {
    /// Unique among deliveries of this process.
    public var id: UInt64
    /// Index of its content.
    public var content: UInt32
    /// 1, 2, ...
    public var attempt: UInt32
    /// This device's badge; nil for the notification's.
    public var badge: Int32?
    /// Expiry, in Unix milliseconds; 0 for none.
    public var deadlineUnixMs: UInt64
    /// A UUID, the same on every attempt.
    public var stableID: String
    /// The device it goes to.
    public var device: Device

    /// Takes a delivery and the index of its content.
    public init(_ delivery: Delivery, content: UInt32) {
        id = delivery.id
        self.content = content
        attempt = delivery.attempt
        badge = delivery.badge
        deadlineUnixMs = delivery.deadlineUnixMs
        stableID = delivery.stableID
        device = delivery.device
    }

    /// Writes the fields.
    public func write(to out: inout RecordWriter) {
        out.put(0, attempt)
        out.put(1, badge)
        out.put(2, id)
        out.put(3, deadlineUnixMs)
        out.put(4, stableID)
        out.put(5, content)
        out.put(6, device)
    }

    /// Reads the fields.
    public init(from record: inout RecordReader) throws(RecordFault) {
        attempt = record.number(0)
        badge = record.optional(1)
        id = record.number(2)
        deadlineUnixMs = record.number(3)
        stableID = try record.text(4)
        content = record.number(5)
        device = try record.record(6) ?? Device()
    }
}
