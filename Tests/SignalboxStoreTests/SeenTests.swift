import Foundation
import GRDB
import SignalboxCore
import Testing

@testable import SignalboxStore

/// Keys of seen events: few in memory, many in a tree.
@Suite struct SeenTests {
    typealias Rig = StoreTests.Rig

    @Test func `keys are those of SipHash-2-4 with 128 bits`() {
        // From the reference implementation: the key is 00 01 ... 0f, the input 00 01 ....
        let seed: (UInt64, UInt64) = (0x0706_0504_0302_0100, 0x0f0e_0d0c_0b0a_0908)
        let expected = [
            "a3817f04ba25a8e66df67214c7550293", "da87c1d86b99af44347659119b22fc45",
            "8177228da4a45dc7fca38bdef60affe4",
        ]
        for (count, digits) in expected.enumerated() {
            let bytes = (0..<UInt8(count)).map { $0 }
            let key = bytes.withUnsafeBytes { SeenKey.hash($0, seed: seed) }
            var out: [UInt8] = []
            key.append(to: &out)
            #expect(out.map { String(format: "%02x", $0) }.joined() == digits)
            #expect(out.withUnsafeBytes { SeenKey($0) } == key)
        }
        let long = (0..<UInt8(15)).map { $0 }.withUnsafeBytes { SeenKey.hash($0, seed: seed) }
        #expect(long.high == 0x5493_e999_33b0_a811)
    }

    private func append(_ range: Range<Int>, _ rig: Rig, nowUnixMs: UInt64) async -> Set<Int> {
        let items = range.map {
            StoreEntry.Item(
                event: Event(id: 900, source: "z", type: "t", dedupe: "key \($0)"), deliveries: [])
        }
        guard
            case .committed(let duplicates, _) = await rig.append(
                items, dedupeMs: 600_000, nowUnixMs: nowUnixMs)
        else { return [] }
        return duplicates
    }

    @Test func `many keys move into a tree, and every one is known meanwhile and afterwards`()
        async throws
    {
        var rig = try Rig()
        let part = 1_024
        let first = SeenKeys.recentMax
        for start in stride(from: 0, to: first, by: part) {
            #expect(await append(start..<start + part, rig, nowUnixMs: 1_000).isEmpty)
        }
        #expect(try rig.count("seen_key") == 0)
        #expect(try rig.count("seen_group") == first / part)
        // Four times as many keys move as are added.
        for start in stride(from: first, to: first + 4 * part, by: part) {
            #expect(await append(start..<start + part, rig, nowUnixMs: 1_000).isEmpty)
        }
        #expect(try rig.count("seen_key") == 16 * part)
        for known in [0, first / 2, first - 1, first + 17] {
            #expect(await append(known..<known + 1, rig, nowUnixMs: 2_000) == [0], "\(known)")
        }
        // In the middle of it the process dies, as far as the file shows.
        await rig.store.close()
        rig = try Rig(folder: rig.folder)
        #expect(
            await append(0..<first + 4 * part, rig, nowUnixMs: 2_000)
                == Set(0..<first + 4 * part))
        // The rest moves, and the notes have one row less for what was moved before.
        for start in stride(from: first + 4 * part, to: first + 24 * part, by: part) {
            #expect(await append(start..<start + part, rig, nowUnixMs: 3_000).isEmpty)
        }
        #expect(try rig.count("seen_key") >= first)
        #expect(try rig.count("seen_group") < 30)
        #expect(await append(5..<6, rig, nowUnixMs: 600_999) == [0])
        #expect(await append(5..<6, rig, nowUnixMs: 601_000).isEmpty)
        await rig.store.close()
    }

    @Test func `every key has a window of its own, also after a restart`() async throws {
        var rig = try Rig()
        func item(_ key: String, _ windowMs: UInt64?) -> StoreEntry.Item {
            var item = StoreEntry.Item(
                event: Event(id: 900, source: "z", type: "t", dedupe: key), deliveries: [])
            item.dedupeMs = windowMs
            return item
        }
        func duplicates(_ nowUnixMs: UInt64) async -> StoreTests.Answer {
            let items = [
                item("short", 5_000), item("long", 86_400_000), item("never", 0),
                item("entry", nil),
            ]
            return await rig.append(items, dedupeMs: 60_000, nowUnixMs: nowUnixMs)
        }
        #expect(await duplicates(1_000) == .committed(duplicates: []))
        #expect(await duplicates(5_999) == .committed(duplicates: [0, 1, 3]))
        await rig.store.close()
        rig = try Rig(folder: rig.folder)
        #expect(await duplicates(6_000) == .committed(duplicates: [1, 3]))
        #expect(await duplicates(10_999) == .committed(duplicates: [0, 1, 3]))
        await rig.store.close()
        rig = try Rig(folder: rig.folder)
        #expect(await duplicates(86_400_999) == .committed(duplicates: [1]))
        #expect(await duplicates(86_401_000) == .committed(duplicates: [0, 3]))
        await rig.store.close()
    }

    @Test func `what a failed commit would have remembered is forgotten`() async throws {
        let rig = try Rig()
        let queue = try rig.connection()
        try await queue.write { db in
            try db.execute(
                sql: """
                    CREATE TRIGGER refuse BEFORE INSERT ON seen_group
                    BEGIN SELECT RAISE(FAIL, 'not now'); END
                    """)
        }
        let item = StoreEntry.Item(
            event: Event(id: 900, source: "z", type: "t", dedupe: "k"), deliveries: [])
        let lost = await rig.append([item], dedupeMs: 1_000)
        #expect(lost != .committed(duplicates: []))
        try await queue.write { db in try db.execute(sql: "DROP TRIGGER refuse") }
        try queue.close()
        #expect(await rig.append([item], dedupeMs: 1_000) == .committed(duplicates: []))
        #expect(await rig.append([item], dedupeMs: 1_000) == .committed(duplicates: [0]))
        await rig.store.close()
    }
}
