/// Reads a block; see `BlockWriter`.
public struct BlockReader: Sendable {
    /// The contents, in the order of their indexes.
    public private(set) var contents: [BlockContent] = []
    /// In the order in which they were added, each with the index of its content.
    public private(set) var deliveries: [(delivery: Delivery, content: Int)] = []
    /// The bytes are malformed: the storage is damaged.
    public private(set) var isBroken = false

    /// Reads everything up to the first malformed record.
    public init(_ bytes: UnsafeRawBufferPointer, lane: LaneKey) {
        guard unsafe bytes.first == BlockWriter.version else {
            isBroken = true
            return
        }
        do throws(RecordFault) {
            unsafe try read(UnsafeRawBufferPointer(rebasing: bytes.dropFirst()), lane: lane)
        } catch {
            isBroken = true
        }
    }

    /// A block of which nothing can be read.
    public static let unreadable = unsafe BlockReader(
        UnsafeRawBufferPointer(start: nil, count: 0), lane: LaneKey(sender: "", app: ""))

    private mutating func read(
        _ bytes: UnsafeRawBufferPointer, lane: LaneKey
    ) throws(RecordFault) {
        var rest = unsafe bytes
        while let kind = unsafe rest.first {
            var record = unsafe try RecordReader(UnsafeRawBufferPointer(rebasing: rest.dropFirst()))
            unsafe rest = UnsafeRawBufferPointer(rebasing: rest.dropFirst(1 + record.size))
            switch BlockWriter.Kind(rawValue: kind) {
            case .content: contents.append(try record.read())
            case .delivery: try add(try record.read(), lane: lane)
            case nil: throw RecordFault(what: "there is no such kind of record")
            }
        }
    }

    private mutating func add(_ record: DeliveryRecord, lane: LaneKey) throws(RecordFault) {
        guard deliveries.count < BlockWriter.countMax else {
            throw RecordFault(what: "there are more deliveries than a block has")
        }
        let index = Int(record.content)
        guard contents.indices.contains(index) else {
            throw RecordFault(what: "there is no such content")
        }
        let content = contents[index]
        let delivery = Delivery(
            kind: lane.kind, id: record.id, eventID: content.event, source: content.source,
            subject: content.subject, route: content.route, sender: lane.sender,
            stableID: record.stableID,
            attempt: StoredNumber.attempts(Int64(record.attempt), free: 0).attempt,
            badge: record.badge,
            deadlineUnixMs: record.deadlineUnixMs, content: content.note, device: record.device)
        deliveries.append((delivery, index))
    }
}
