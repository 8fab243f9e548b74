import SignalboxCore

@testable import SignalboxStore

extension FuzzTarget {
    /// Records of the store: the first byte chooses the type. What is read is written and read again.
    static let record = FuzzTarget(name: "record") { input in
        guard let first = input.first else { return }
        let rest = UnsafeRawBufferPointer(rebasing: input.dropFirst())
        switch first % 10 {
        case 0: check(Device.self, rest)
        case 1: check(PushNotification.self, rest)
        case 2: check(Recipient.self, rest)
        case 3: check(Event.self, rest)
        case 4: check(DeliveryRecord.self, rest)
        case 5: check(BlockContent.self, rest)
        case 6: check(HistoryEvent.self, rest)
        case 7: check(HistoryStep.self, rest)
        case 8: rows(rest)
        default: check(Attribute.self, rest)
        }
    }

    /// Rows of history, outcomes, dedupe keys and marks, with numbers that no gateway writes.
    private static func rows(_ input: UnsafeRawBufferPointer) {
        guard input.count >= 16 else { return }
        func number(_ place: Int) -> Int64 {
            input.loadUnaligned(fromByteOffset: place, as: Int64.self)
        }
        let (one, other) = (number(0), number(8))
        if let id = StoredNumber.unsigned(one) { require(id <= StoredNumber.max, "a large id") }
        let tried = StoredNumber.attempts(one, free: other)
        require(tried.attempt > tried.free, "more free attempts than attempts")
        require(
            (StoredNumber.wait(untilMs: one, nowMs: other) > 0) == (one > other), "another wait")
        let rest = Array(input.dropFirst(16))
        var history = HistoryRow()
        (history.tags, history.records) = (rest, rest)
        _ = history.read()
        _ = history.has(anyOf: [.user("u")])
        let first = UInt64(clamping: one)
        var batch = OutcomeBatch(from: UInt64(clamping: other), wish: OutcomeWish())
        batch.add(OutcomeRow(first: first, count: Int(clamping: other), bytes: rest))
        SeenKeys.each(UnsafeRawBufferPointer(rebasing: input.dropFirst(16))) { _, _ in }
        _ = Marks(rest).marked
    }

    /// A block of the queue, of any version. What is read of it is written as a block that is read in full.
    static let block = FuzzTarget(name: "block") { input in
        let lane = LaneKey(sender: "apns", app: "com.example")
        let read = BlockReader(input, lane: lane)
        var writer = BlockWriter()
        for (delivery, _) in read.deliveries {
            let event = Event(
                id: delivery.eventID, source: delivery.source, type: delivery.content.eventType,
                subject: delivery.subject)
            writer.add(delivery, of: event, receivedUnixMs: delivery.content.receivedUnixMs)
        }
        let again = writer.bytes.withUnsafeBytes { BlockReader($0, lane: lane) }
        require(!again.isBroken, "a written block is broken")
        require(again.deliveries.count == read.deliveries.count, "deliveries are missing")
        for ((one, _), (other, _)) in zip(read.deliveries, again.deliveries) {
            require(one.id == other.id && one.attempt == other.attempt, "another delivery")
            require(one.eventID == other.eventID && one.route == other.route, "another event")
            require(one.device == other.device && one.badge == other.badge, "another device")
            require(one.stableID == other.stableID && one.source == other.source, "another name")
            require(one.deadlineUnixMs == other.deadlineUnixMs, "another deadline")
            require(one.content.notification == other.content.notification, "another content")
        }
    }

    private static func check<Value: RecordValue>(
        _ type: Value.Type, _ input: UnsafeRawBufferPointer
    ) {
        guard var reader = try? RecordReader(input), let value = try? Value(from: &reader) else {
            return
        }
        require(reader.size <= input.count, "a record is larger than its bytes")
        let first = bytes(value)
        let again = first.withUnsafeBytes { words -> Value? in
            guard var reader = try? RecordReader(words), reader.size == words.count else {
                return nil
            }
            return try? Value(from: &reader)
        }
        guard let again else { fatalError("broken property: \(type) does not read what it wrote") }
        require(bytes(again) == first, "\(type) is written in another way")
    }

    private static func bytes(_ value: some RecordValue) -> [UInt8] {
        var writer = RecordWriter()
        writer.append(value)
        return writer.bytes
    }
}
