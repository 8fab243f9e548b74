internal import SignalboxCore

extension BlockReader {
    /// A block of which nothing can be read.
    static let unreadable = BlockReader(contents: [], deliveries: [], isBroken: true)

    /// Reads a block of any version.
    init(anyVersion bytes: UnsafeRawBufferPointer, lane: LaneKey) {
        switch bytes.first {
        case 1, 2:
            let old = OldBlock(bytes, lane: lane)
            self.init(
                contents: old.contents, deliveries: old.deliveries, isBroken: old.isBroken)
        default: self.init(bytes, lane: lane)
        }
    }
}

/// A block of version 1 or 2, which older gateways wrote: numbers are LEB128, texts a length and UTF-8. Version 1 had
/// no keys of events.
struct OldBlock {
    private let lane: LaneKey
    private var hasKeys = false
    private(set) var contents: [BlockContent] = []
    /// In the order in which they were added, each with the index of its content.
    private(set) var deliveries: [(delivery: Delivery, content: Int)] = []

    private var bytes: UnsafeRawBufferPointer
    private var place = 0
    /// The bytes are malformed: the file is damaged.
    private(set) var isBroken = false

    /// Reads everything up to the first malformed record.
    init(_ bytes: UnsafeRawBufferPointer, lane: LaneKey) {
        self.bytes = bytes
        self.lane = lane
        hasKeys = byte() > 1
        while !isBroken, place < bytes.count {
            switch byte() {
            case 1: readContent()
            case 2: readDelivery()
            default: isBroken = true
            }
        }
        self.bytes = UnsafeRawBufferPointer(start: nil, count: 0)
    }

    private mutating func readContent() {
        let (event, source, type, subject) = (number(), text(), text(), text())
        let (received, route) = (number(), text())
        let key = hasKeys ? text() : ""
        let note = notification()
        guard !isBroken else { return }
        contents.append(
            BlockContent(
                event: event, source: source, type: type, subject: subject,
                receivedUnixMs: received, route: route,
                note: SharedNotification(
                    note, eventType: type, eventKey: key, receivedUnixMs: received)))
    }

    private mutating func readDelivery() {
        let id = number()
        let index = Int(clamping: number())
        let attempt = StoredNumber.attempts(Int64(clamping: number()), free: 0).attempt
        let deadline = number()
        let badge = optional()
        let stableID = text()
        let (platform, provider, token, sourceToken) = (text(), text(), text(), text())
        let (user, locale, registered) = (text(), text(), number())
        var attributes: [Attribute] = []
        repeated {
            let key = $0.text()
            attributes.append(Attribute(key, $0.text()))
        }
        guard !isBroken, contents.indices.contains(index), deliveries.count < Marks.count else {
            isBroken = true
            return
        }
        let content = contents[index]
        let device = Device(
            app: lane.app, platform: platform, provider: provider, token: token,
            sourceToken: sourceToken, user: user, locale: locale, registeredUnixMs: registered,
            attributes: attributes)
        let delivery = Delivery(
            id: id, eventID: content.event, source: content.source, subject: content.subject,
            route: content.route, sender: lane.sender, stableID: stableID, attempt: attempt,
            badge: badge, deadlineUnixMs: deadline, content: content.note, device: device)
        deliveries.append((delivery, index))
    }

    private mutating func notification() -> PushNotification {
        var note = PushNotification()
        let flags = byte()
        note.isSilent = flags & 1 != 0
        note.isDataOnly = flags & 2 != 0
        note.isMutable = flags & 4 != 0
        note.isDryRun = flags & 8 != 0
        note.isWithdrawn = flags & 16 != 0
        note.badge = optional()
        note.priority = Priority(rawValue: UInt32(clamping: number()))
        note.expiresUnixMs = number()
        note.title = text()
        note.subtitle = text()
        note.body = text()
        note.sound = text()
        note.thread = text()
        note.category = text()
        note.collapse = text()
        note.imageURL = text()
        note.link = text()
        note.pushType = text()
        note.data = text()
        repeated {
            let family = $0.text()
            note.overrides.append(PayloadOverride(family: family, json: $0.text()))
        }
        return note
    }

    /// Reads as many elements as the next number says, or as there are: a damaged number may be any.
    private mutating func repeated(_ read: (inout OldBlock) -> Void) {
        var left = number()
        while left > 0, !isBroken {
            read(&self)
            left -= 1
        }
    }

    private mutating func byte() -> UInt8 {
        guard place < bytes.count else {
            isBroken = true
            return 0
        }
        defer { place += 1 }
        return bytes[place]
    }

    private mutating func number() -> UInt64 {
        var value: UInt64 = 0
        var shift: UInt64 = 0
        while shift < 64 {
            let next = byte()
            value |= UInt64(next & 0x7F) << shift
            if next & 0x80 == 0 { return isBroken ? 0 : value }
            shift += 7
        }
        isBroken = true
        return 0
    }

    private mutating func optional() -> Int32? {
        let value = number()
        return value == 0 ? nil : Int32(bitPattern: UInt32(truncatingIfNeeded: value - 1))
    }

    private mutating func text() -> String {
        let count = Int(clamping: number())
        if count == 0 { return "" }
        guard count <= bytes.count - place else {
            isBroken = true
            return ""
        }
        defer { place += count }
        return String(decoding: bytes[place..<place + count], as: UTF8.self)
    }
}
