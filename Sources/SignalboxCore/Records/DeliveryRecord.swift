/// A delivery among others that share contents: in a block of the store, or on its way to an isolated plugin.
///
/// Its fields are the members of `sbx_delivery`; the notification is its number among the contents.
public struct DeliveryRecord: RecordValue {
    /// Unique among deliveries of this process.
    public var id: UInt64
    /// The number of its content.
    public var content: UInt32
    /// 1, 2, ...
    public var attempt: UInt32
    /// This device's badge; nil: the notification's.
    public var badge: Int32?
    /// Worthless afterwards, in Unix milliseconds; 0: none.
    public var deadlineUnixMs: UInt64
    /// A UUID, the same on every attempt.
    public var stableID: String
    /// Where it goes.
    public var device: Device

    /// A delivery with the number of its content.
    public init(_ delivery: Delivery, content: UInt32) {
        id = delivery.id
        self.content = content
        attempt = delivery.attempt
        badge = delivery.badge
        deadlineUnixMs = delivery.deadlineUnixMs
        stableID = delivery.stableID
        device = delivery.device
    }

    /// Puts its fields.
    public func write(to out: inout RecordWriter) {
        out.put(0, attempt)
        out.put(1, badge)
        out.put(2, id)
        out.put(3, deadlineUnixMs)
        out.put(4, stableID)
        out.put(5, content)
        out.put(6, device)
    }

    /// Takes them.
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
