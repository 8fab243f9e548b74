import SignalboxCore
import Testing

/// Records: the format of nouns on disk and on the way to isolated plugins.
@Suite struct RecordTests {
    static func bytes(_ record: some RecordValue) -> [UInt8] {
        var out = RecordWriter()
        out.append(record)
        return out.bytes
    }

    static func read<Value: RecordValue>(
        _ bytes: [UInt8], as type: Value.Type
    ) throws -> Value {
        try bytes.withUnsafeBytes { bytes in
            var record = try RecordReader(bytes)
            #expect(record.size == bytes.count)
            return try record.read()
        }
    }

    static var event: Event {
        var device = Device(
            app: "com.example", platform: "ios", token: "ab", user: "u-1", locale: "de-AT",
            registeredUnixMs: 9, attributes: [Attribute("muted", ""), Attribute("", "all")])
        device.provider = "apns"
        return Event(
            type: "ticket.replied", subject: "ticket/5", data: "{\"a\":\"ü👍🏽\u{0}\"}",
            recipients: [
                Recipient(device: device), Recipient(device: Device(user: "u-2")),
                Recipient(device: Device()),
            ], dedupeWindowMs: .max)
    }

    @Test func `a noun is read as it was written, wherever its bytes lie`() throws {
        let bytes = Self.bytes(Self.event)
        for offset in 0..<9 {
            let moved = [UInt8](repeating: 0xFF, count: offset) + bytes + [1, 2, 3]
            try moved.withUnsafeBytes { moved in
                var record = try RecordReader(.init(rebasing: moved[offset...]))
                #expect(record.size == bytes.count)
                let back: Event = try record.read()
                #expect(Self.bytes(back) == bytes)
                #expect(back.recipients == Self.event.recipients)
                #expect(back.data == Self.event.data && back.dedupeWindowMs == .max)
            }
        }
    }

    @Test func `what is not given takes no room`() throws {
        #expect(Self.bytes(PushNotification()).count == 8)
        var note = PushNotification()
        note.title = "Hello"
        #expect(Self.bytes(note).count == 8 + 5 + 8)
        note.badge = 0
        #expect(Self.bytes(note).count == 8 + 5 + 16)
        #expect(try Self.read(Self.bytes(note), as: PushNotification.self) == note)
        note.badge = -4
        #expect(try Self.read(Self.bytes(note), as: PushNotification.self).badge == -4)
    }

    /// A noun with a field that this gateway does not know.
    private struct Newer: RecordValue {
        var key = ""
        var later = ""

        func write(to out: inout RecordWriter) {
            out.put(0, key)
            out.put(1, "value")
            out.put(2, later)
            out.put(31, UInt64(7))
        }

        init(key: String, later: String) { (self.key, self.later) = (key, later) }

        init(from record: inout RecordReader) throws(RecordFault) {
            key = try record.text(0)
            _ = try record.text(1)
            later = try record.text(2)
        }
    }

    @Test func `an older reader skips what it does not know, a newer one misses it`() throws {
        let newer = Self.bytes(Newer(key: "key", later: "later"))
        #expect(try Self.read(newer, as: Attribute.self) == Attribute("key", "value"))
        let older = try Self.read(Self.bytes(Attribute("key", "value")), as: Newer.self)
        #expect(older.key == "key" && older.later.isEmpty)
    }

    @Test func `a record that is cut is refused at every length`() {
        let bytes = Self.bytes(Self.event)
        for count in 0..<bytes.count {
            #expect(throws: RecordFault.self, "\(count) of \(bytes.count)") {
                _ = try Self.read(Array(bytes[..<count]), as: Event.self)
            }
        }
    }

    @Test func `a part cannot be counted twice`() {
        // Two texts whose slots refer to the same bytes.
        var bytes = Self.bytes(Attribute("aaaa", "bbbb"))
        bytes.replaceSubrange(24..<32, with: bytes[16..<24])
        #expect(throws: RecordFault(what: "a part is at the wrong offset")) {
            _ = try Self.read(bytes, as: Attribute.self)
        }
    }

    @Test func `noise is a fault or a noun, and never a crash`() throws {
        let seed = UInt64.random(in: 0 ... .max)
        var state = seed
        func next() -> UInt64 {
            state ^= state << 13
            state ^= state >> 7
            state ^= state << 17
            return state
        }
        let whole = Self.bytes(Self.event)
        for _ in 0..<5_000 {
            var bytes = whole
            for _ in 0...next() % 4 {
                let place = Int(next() % UInt64(bytes.count))
                bytes[place] = UInt8(truncatingIfNeeded: next() % 3 == 0 ? 0xFF : next())
            }
            bytes.withUnsafeBytes { bytes in
                guard var record = try? RecordReader(bytes) else { return }
                // What can be read can be written, and grows only where bytes are not UTF-8.
                if let event = try? record.read(as: Event.self) {
                    #expect(Self.bytes(event).count <= 3 * bytes.count, "seed \(seed)")
                }
            }
        }
    }
}
