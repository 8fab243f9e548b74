internal import SignalboxCore

/// Deliveries of one lane and priority on their way into one row: as bytes, a content that several share once.
///
/// A version, then records: a content (kind 1) before the first delivery (kind 2) that points to it. Numbers are
/// LEB128, texts a length and UTF-8. `BlockReader` reads it.
struct BlockWriter {
    /// As many as a row of progress has bits for.
    static let countMax = Marks.count
    /// A block that has reached this many bytes takes nothing more.
    static let bytesMax = 64 << 10
    /// 1 had no keys of events.
    static let version: UInt8 = 2

    enum Kind {
        static let content: UInt8 = 1
        static let delivery: UInt8 = 2
    }

    /// The content of a delivery with what it shares with its neighbours.
    private struct ContentKey: Hashable {
        var content: ObjectIdentifier
        var event: UInt64
        var route: String
    }

    private(set) var bytes: [UInt8] = [version]
    private(set) var ids: [UInt64] = []
    private var contents: [ContentKey: UInt64] = [:]
    private var last: (key: ContentKey, index: UInt64)?

    var isFull: Bool { ids.count >= Self.countMax || bytes.count >= Self.bytesMax }

    /// Adds a delivery of an event that came in at a time.
    mutating func add(_ delivery: Delivery, of event: Event, receivedUnixMs: UInt64) {
        let content = index(of: delivery, event, receivedUnixMs)
        ids.append(delivery.id)
        bytes.append(Kind.delivery)
        put(delivery.id)
        put(content)
        put(UInt64(delivery.attempt))
        put(delivery.deadlineUnixMs)
        put(optional: delivery.badge)
        put(delivery.stableID)
        let device = delivery.device
        put(device.platform)
        put(device.provider)
        put(device.token)
        put(device.sourceToken)
        put(device.user)
        put(device.locale)
        put(device.registeredUnixMs)
        put(UInt64(device.attributes.count))
        for attribute in device.attributes {
            put(attribute.key)
            put(attribute.value)
        }
    }

    private mutating func index(
        of delivery: Delivery, _ event: Event, _ receivedUnixMs: UInt64
    ) -> UInt64 {
        let key = ContentKey(
            content: ObjectIdentifier(delivery.content), event: event.id, route: delivery.route)
        if let last, last.key == key { return last.index }
        if let known = contents[key] { return known }
        let index = UInt64(contents.count)
        contents[key] = index
        last = (key, index)
        bytes.append(Kind.content)
        put(event.id)
        put(event.source)
        put(event.type)
        put(event.subject)
        put(receivedUnixMs)
        put(delivery.route)
        put(delivery.content.eventKey)
        put(delivery.content.notification)
        return index
    }

    private mutating func put(_ note: Notification) {
        var flags: UInt8 = 0
        for (bit, isSet) in [
            note.isSilent, note.isDataOnly, note.isMutable, note.isDryRun, note.isWithdrawn,
        ].enumerated() where isSet {
            flags |= 1 << UInt8(bit)
        }
        bytes.append(flags)
        put(optional: note.badge)
        put(UInt64(note.priority?.rawValue ?? 0))
        put(note.expiresUnixMs)
        put(note.title)
        put(note.subtitle)
        put(note.body)
        put(note.sound)
        put(note.thread)
        put(note.category)
        put(note.collapse)
        put(note.imageURL)
        put(note.link)
        put(note.pushType)
        put(note.data)
        put(UInt64(note.overrides.count))
        for override in note.overrides {
            put(override.family)
            put(override.json)
        }
    }

    private mutating func put(_ number: UInt64) {
        var rest = number
        while rest >= 0x80 {
            bytes.append(UInt8(truncatingIfNeeded: rest) | 0x80)
            rest >>= 7
        }
        bytes.append(UInt8(truncatingIfNeeded: rest))
    }

    /// 0: none; else one more than its bits.
    private mutating func put(optional number: Int32?) {
        put(number.map { UInt64(UInt32(bitPattern: $0)) + 1 } ?? 0)
    }

    private mutating func put(_ text: String) {
        // Most fields are not given.
        if text.isEmpty { return bytes.append(0) }
        var text = text
        text.withUTF8 { utf8 in
            put(UInt64(utf8.count))
            bytes.append(contentsOf: utf8)
        }
    }
}
