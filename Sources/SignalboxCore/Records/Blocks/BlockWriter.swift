/// Encodes deliveries of one lane and priority into one row. Content that several share is written once.
///
/// A version, then records, each with its kind in front; content comes before the first delivery that uses it.
/// `BlockReader` reads it. Each engine stores such blocks in its own way.
public struct BlockWriter: Sendable {
    /// As many as a row of progress has bits for.
    public static let countMax = Marks.count
    /// A block of this many bytes is full.
    public static let bytesMax = 64 << 10
    /// A block begins with it.
    static let version: UInt8 = 3

    enum Kind: UInt8 {
        case content = 1
        case delivery
    }

    /// The content of a delivery, with the fields that its neighbours share.
    private struct ContentKey: Hashable {
        var content: ObjectIdentifier
        var event: UInt64
        var route: String
    }

    private var records = RecordWriter(bytesExpected: 1_024)
    /// Ids of the deliveries, in the order in which they were added.
    public private(set) var ids: [UInt64] = []
    private var contentCount: UInt32 = 0
    /// The content that was added last; mostly it is the only one.
    private var last: (key: ContentKey, index: UInt32)?
    /// The others.
    private var earlier: [ContentKey: UInt32] = [:]

    /// Makes an empty block.
    public init() { records.append(Self.version) }

    /// The encoded block.
    public var bytes: [UInt8] { records.bytes }
    /// Whether it takes no more deliveries.
    public var isFull: Bool { ids.count >= Self.countMax || bytes.count >= Self.bytesMax }

    /// Adds a delivery of an event.
    public mutating func add(_ delivery: Delivery, of event: Event, receivedUnixMs: UInt64) {
        let content = index(of: delivery, event, receivedUnixMs)
        ids.append(delivery.id)
        records.append(Kind.delivery.rawValue)
        records.append(DeliveryRecord(delivery, content: content))
    }

    private mutating func index(
        of delivery: Delivery, _ event: Event, _ receivedUnixMs: UInt64
    ) -> UInt32 {
        let key = ContentKey(
            content: ObjectIdentifier(delivery.content), event: event.id, route: delivery.route)
        if let last, last.key == key { return last.index }
        if let known = earlier[key] { return known }
        if let last { earlier[last.key] = last.index }
        let index = contentCount
        contentCount += 1
        last = (key, index)
        records.append(Kind.content.rawValue)
        records.append(
            BlockContent(
                event: event.id, source: event.source, type: event.type, subject: event.subject,
                receivedUnixMs: receivedUnixMs, route: delivery.route, note: delivery.content))
        return index
    }
}
