internal import SignalboxCore

/// Reads a block; see `BlockWriter`.
struct BlockReader {
    private(set) var contents: [BlockContent] = []
    /// In the order in which they were added, each with the index of its content.
    private(set) var deliveries: [(delivery: Delivery, content: Int)] = []
    /// The bytes are malformed: the file is damaged.
    private(set) var isBroken = false

    /// Reads everything up to the first malformed record.
    init(_ bytes: UnsafeRawBufferPointer, lane: LaneKey) {
        switch bytes.first {
        case 1, 2:
            let old = OldBlock(bytes, lane: lane)
            (contents, deliveries, isBroken) = (old.contents, old.deliveries, old.isBroken)
        case BlockWriter.version:
            do throws(RecordFault) {
                try read(UnsafeRawBufferPointer(rebasing: bytes.dropFirst()), lane: lane)
            } catch {
                isBroken = true
            }
        default: isBroken = true
        }
    }

    private mutating func read(
        _ bytes: UnsafeRawBufferPointer, lane: LaneKey
    ) throws(RecordFault) {
        var rest = bytes
        while let kind = rest.first {
            var record = try RecordReader(UnsafeRawBufferPointer(rebasing: rest.dropFirst()))
            rest = UnsafeRawBufferPointer(rebasing: rest.dropFirst(1 + record.size))
            switch BlockWriter.Kind(rawValue: kind) {
            case .content: contents.append(try record.read())
            case .delivery: try add(try record.read(), lane: lane)
            case nil: throw RecordFault(what: "there is no such kind of record")
            }
        }
    }

    private mutating func add(_ record: DeliveryRecord, lane: LaneKey) throws(RecordFault) {
        let index = Int(record.content)
        guard contents.indices.contains(index) else {
            throw RecordFault(what: "there is no such content")
        }
        let content = contents[index]
        let delivery = Delivery(
            id: record.id, eventID: content.event, source: content.source,
            subject: content.subject, route: content.route, sender: lane.sender,
            stableID: record.stableID, attempt: record.attempt, badge: record.badge,
            deadlineUnixMs: record.deadlineUnixMs, content: content.note, device: record.device)
        deliveries.append((delivery, index))
    }
}
