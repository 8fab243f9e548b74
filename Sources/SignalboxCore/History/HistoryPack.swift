/// Records of history on their way to a store: what one commit adds.
///
/// One buffer: of each record its kind, its tags and itself. A store splits it into the two parts of a row
/// (`HistoryRow`): the tags of all records, and the records.
public struct HistoryPack: Sendable {
    /// Kinds of records in a buffer.
    enum Kind: UInt8 {
        case event = 1
        case duplicate = 2
        case step = 3
    }

    /// Without room until a record is added.
    private var writer = RecordWriter(fieldsExpected: 0)
    private var last: (event: UInt64, tag: HistoryTag)?

    /// An empty pack.
    public init() {}

    /// A pack with one event.
    public init(_ event: HistoryEvent, tags: [HistoryTag]) {
        add(event, .event, tags)
    }

    /// Whether it holds no record.
    public var isEmpty: Bool { writer.bytes.isEmpty }

    /// Adds a step of a delivery.
    public mutating func add(_ step: HistoryStep, of delivery: Delivery) {
        let (user, subject) = (delivery.device.user, delivery.subject)
        begin(.step, tagCount: 2 + (user.isEmpty ? 0 : 1) + (subject.isEmpty ? 0 : 1))
        put(tag(ofEvent: delivery.eventID))
        put(.token(delivery.device.token))
        if !user.isEmpty { put(.user(user)) }
        if !subject.isEmpty { put(.subject(subject)) }
        writer.append(step)
    }

    /// Deliveries of one event mostly follow each other.
    private mutating func tag(ofEvent id: UInt64) -> HistoryTag {
        if let last, last.event == id { return last.tag }
        let tag = HistoryTag.event(id)
        last = (id, tag)
        return tag
    }

    /// Adds a step of an event's notification, of which only the user may be known.
    public mutating func add(_ step: HistoryStep, user: String) {
        add(
            step, .step,
            user.isEmpty ? [.event(step.eventID)] : [.event(step.eventID), .user(user)])
    }

    private mutating func add(_ record: some RecordValue, _ kind: Kind, _ tags: [HistoryTag]) {
        begin(kind, tagCount: tags.count)
        for tag in tags { put(tag) }
        writer.append(record)
    }

    private mutating func begin(_ kind: Kind, tagCount: Int) {
        if writer.bytes.isEmpty { writer = RecordWriter(bytesExpected: 256) }
        writer.append(kind.rawValue)
        writer.append(UInt32(tagCount))
    }

    private mutating func put(_ tag: HistoryTag) { writer.append(tag.bits) }

    /// Appends its records to a row. `isDuplicate`: its event turned out to be a duplicate.
    public func append(to row: inout HistoryRow, isDuplicate: Bool = false) {
        unsafe writer.bytes.withUnsafeBytes { bytes in
            var place = 0
            while place < bytes.count {
                let kind = unsafe isDuplicate ? Kind.duplicate.rawValue : bytes[place]
                let count = Int(
                    unsafe UInt32(
                        littleEndian: bytes.loadUnaligned(
                            fromByteOffset: place + 1, as: UInt32.self)))
                let tags = place + 5
                let record = tags + HistoryTag.size * count
                let size = Int(
                    unsafe UInt32(
                        littleEndian: bytes.loadUnaligned(
                            fromByteOffset: record, as: UInt32.self)))
                unsafe row.tags.append(contentsOf: bytes[tags..<record])
                row.records.append(kind)
                unsafe row.records.append(contentsOf: bytes[record..<record + size])
                place = record + size
            }
        }
    }
}

/// A row of history: what one commit added.
public struct HistoryRow: Sendable, Hashable {
    /// A row that is larger is followed by another.
    public static let bytesMax = 64 << 10

    /// When it was written, in Unix milliseconds of the store.
    public var unixMs: UInt64 = 0
    /// The gateway that wrote it; empty if the store serves one gateway.
    public var gateway = ""
    /// The tags of its records, four bytes each.
    public var tags: [UInt8] = []
    /// The records.
    public var records: [UInt8] = []

    /// An empty row.
    public init() {}

    /// Its size in bytes.
    public var size: Int { tags.count + records.count }

    /// Whether its records have one of these tags.
    public func has(anyOf wanted: [HistoryTag]) -> Bool {
        let bits = Set(wanted.map(\.bits))
        return unsafe tags.withUnsafeBytes { bytes in
            stride(from: 0, to: bytes.count - 3, by: HistoryTag.size).contains { place in
                bits.contains(
                    unsafe UInt32(
                        littleEndian: bytes.loadUnaligned(
                            fromByteOffset: place, as: UInt32.self)))
            }
        }
    }

    /// The events and steps, in their order. What follows damaged bytes is left out.
    public func read() -> (events: [HistoryEvent], steps: [HistoryStep]) {
        var (events, steps): ([HistoryEvent], [HistoryStep]) = ([], [])
        unsafe records.withUnsafeBytes { bytes in
            var rest = unsafe bytes[...]
            while let first = unsafe rest.popFirst(), let kind = HistoryPack.Kind(rawValue: first),
                var reader = unsafe try? RecordReader(UnsafeRawBufferPointer(rebasing: rest))
            {
                unsafe rest = rest.dropFirst(reader.size)
                switch kind {
                case .event, .duplicate:
                    guard var event = try? HistoryEvent(from: &reader) else { return }
                    event.isDuplicate = kind == .duplicate
                    events.append(event)
                case .step:
                    // Written by a later version, it may be of a kind that is not known here.
                    if let step = try? HistoryStep(from: &reader) { steps.append(step) }
                }
            }
        }
        return (events, steps)
    }
}
