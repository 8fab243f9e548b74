import Foundation
import GRDB
import SignalboxCore
import SignalboxStore
import Testing

/// Files of older gateways: blocks of versions 1 and 2, and rows with JSON.
@Suite struct OldFormatTests {
    typealias Rig = StoreTests.Rig

    /// A block in the format of an older gateway.
    struct OldWriter {
        var bytes: [UInt8]

        init(version: UInt8) { bytes = [version] }

        mutating func put(_ number: UInt64) {
            var rest = number
            while rest >= 0x80 {
                bytes.append(UInt8(truncatingIfNeeded: rest) | 0x80)
                rest >>= 7
            }
            bytes.append(UInt8(rest))
        }

        mutating func put(_ texts: String...) {
            for text in texts {
                put(UInt64(text.utf8.count))
                bytes += text.utf8
            }
        }

        /// A content with a badge of -4, flags for silent and withdrawn, and an override.
        mutating func putContent(hasKey: Bool) {
            bytes.append(1)
            put(900)
            put("z", "ticket.replied", "ticket/5")
            put(1_000)
            put("r")
            if hasKey { put("key") }
            bytes.append(1 | 16)
            put(UInt64(UInt32(bitPattern: -4)) + 1)
            put(10)
            put(77)
            put("T", "S", "B", "snd", "th", "cat", "col", "https://img", "app://l", "voip", "{}")
            put(1)
            put("apns", "{\"a\":1}")
        }

        mutating func putDelivery(_ id: UInt64) {
            bytes.append(2)
            put(id)
            put(0)
            put(3)
            put(5_000)
            put(0)
            put("uuid-\(id)", "ios", "apns", "t\(id)", "<t>", "u", "de-AT")
            put(8)
            put(1)
            put("muted", "all")
        }
    }

    static var note: PushNotification {
        var note = PushNotification()
        (note.isSilent, note.isWithdrawn) = (true, true)
        note.badge = -4
        note.priority = .high
        note.expiresUnixMs = 77
        (note.title, note.subtitle, note.body) = ("T", "S", "B")
        (note.sound, note.thread, note.category) = ("snd", "th", "cat")
        (note.collapse, note.imageURL, note.link) = ("col", "https://img", "app://l")
        (note.pushType, note.data) = ("voip", "{}")
        note.overrides = [PayloadOverride(family: "apns", json: "{\"a\":1}")]
        return note
    }

    static func device(_ id: UInt64) -> Device {
        Device(
            platform: "ios", provider: "apns", token: "t\(id)", sourceToken: "<t>", user: "u",
            locale: "de-AT", registeredUnixMs: 8, attributes: [Attribute("muted", "all")])
    }

    /// A file with two deliveries in a block, changed without the store's knowledge.
    private func file(
        _ change: @escaping @Sendable (Database) throws -> Void
    ) async throws -> Rig {
        let rig = try Rig()
        _ = await rig.append([
            StoreTests.item([StoreTests.delivery(1), StoreTests.delivery(2)])
        ])
        await rig.store.close()
        let queue = try rig.connection()
        try await queue.write { db in try change(db) }
        try queue.close()
        return try Rig(folder: rig.folder)
    }

    @Test(arguments: [UInt8(1), 2])
    func `a block of an older version is read`(version: UInt8) async throws {
        var old = OldWriter(version: version)
        old.putContent(hasKey: version > 1)
        old.putDelivery(1)
        old.putDelivery(2)
        let bytes = Data(old.bytes)
        let rig = try await file { db in
            try db.execute(sql: "UPDATE block SET bytes = ?", arguments: [bytes])
        }
        let deliveries = await rig.lease().deliveries
        #expect(deliveries.map(\.id) == [1, 2])
        #expect(deliveries.map(\.device) == [Self.device(1), Self.device(2)])
        #expect(deliveries.allSatisfy { $0.content.notification == Self.note })
        let key = version > 1 ? "key" : ""
        #expect(deliveries.map(\.content.eventKey) == [key, key])
        #expect(deliveries.map(\.attempt) == [3, 3] && deliveries.map(\.badge) == [nil, nil])
        #expect(deliveries.first?.subject == "ticket/5" && deliveries.first?.route == "r")
        #expect(rig.faults.value == [])
        await rig.settle([.delivered(1), .delivered(2)])
        #expect(try rig.count("block") == 0)
        await rig.store.close()
    }

    /// Found by `make fuzz`: every iteration up to the number was made, after the end of the bytes, too.
    @Test(.timeLimit(.minutes(1)))
    func `a block that claims a list without end is damage, and is named`() async throws {
        var bytes: [UInt8] = [1, 1]
        // A content with empty fields, then the number of its overrides.
        bytes += [UInt8](repeating: 0, count: 21) + [UInt8](repeating: 0xFF, count: 9) + [1]
        let damaged = Data(bytes)
        let rig = try await file { db in
            try db.execute(sql: "UPDATE block SET bytes = ?", arguments: [damaged])
        }
        #expect(await rig.lease().deliveries.isEmpty)
        #expect(rig.faults.value.contains { $0.contains("2 of its 2 deliveries") })
        await rig.store.close()
    }

    @Test func `a block of a newer version is damage, and is named`() async throws {
        let rig = try await file { db in
            try db.execute(sql: "UPDATE block SET bytes = X'09'")
        }
        #expect(await rig.lease().deliveries.isEmpty)
        #expect(rig.faults.value.contains { $0.contains("2 of its 2 deliveries") })
        await rig.store.close()
    }

    @Test func `rows with JSON are read, dead letters too`() async throws {
        let rig = try Rig()
        _ = await rig.append([StoreTests.item([StoreTests.delivery(1)], taken: [1])])
        await rig.settle([
            .retry(1, afterMs: rig.until(1_500), StoreTests.attempt(), isFree: false)
        ])
        await rig.store.close()
        let note = """
            {"silent":true,"withdraw":true,"badge":-4,"priority":10,"expires":77,"title":"T","subtitle":"S","body":"B",\
            "sound":"snd","thread":"th","category":"cat","collapse":"col","image":"https://img","link":"app://l",\
            "push_type":"voip","data":"{}","overrides":[["apns","{\\"a\\":1}"]]}
            """
        let device = #"["ios","t1","apns","<t>","u","de-AT",8,[["muted","all"]]]"#
        let queue = try rig.connection()
        try await queue.write { db in
            try db.execute(sql: "UPDATE payload SET note = ?", arguments: [note])
            try db.execute(sql: "UPDATE delivery SET device = ?", arguments: [device])
        }
        try queue.close()
        let next = try Rig(folder: rig.folder)
        let leased = await next.lease().deliveries
        #expect(leased.map(\.device) == [Self.device(1)])
        #expect(leased.map(\.content.notification) == [Self.note])
        await next.settle([.dead(1, reason: "rejected", StoreTests.attempt())])
        let dead = try await next.store.deadLetters(DeadFilter(), fromID: 0, limit: 9)
        #expect(dead.map(\.notification) == [Self.note] && dead.map(\.device) == [Self.device(1)])
        #expect(next.faults.value == [])
        await next.store.close()
    }
}
