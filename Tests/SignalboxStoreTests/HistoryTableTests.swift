import PluginRig
import SignalboxCore
import Synchronization
import Testing

@testable import SignalboxStore

/// History stays within its limits, and gives way to what must not be lost.
@Suite struct HistoryTableTests {
    private static func item(_ id: UInt64, subject: String = "s") -> StoreEntry.Item {
        let event = Event(id: id, source: "z", type: "t", subject: subject)
        var item = StoreEntry.Item(event: event, deliveries: [])
        item.history = HistoryPack(
            HistoryEvent(event, receivedUnixMs: 1),
            tags: [.event(id), .subject(subject)])
        return item
    }

    private static func events(
        _ rig: StoreTests.Rig, _ tag: HistoryTag = .subject("s")
    ) async throws -> [UInt64] {
        var search = HistorySearch([tag])
        var out: [UInt64] = []
        repeat {
            let page = try await rig.store.history(search)
            for row in page.rows { out += row.read().events.reversed().map(\.id) }
            search.cursor = page.next
        } while search.cursor != nil
        return out
    }

    @Test func `what is too much goes, the oldest first`() async throws {
        let rig = try StoreTests.Rig()
        rig.store.keepHistory(HistoryLimits(bytesMax: 100_000))
        let subject = String(repeating: "x", count: 1_000)
        for id in 1...400 as ClosedRange<UInt64> {
            _ = await rig.append([Self.item(id, subject: subject)])
        }
        let left = try await Self.events(rig, .subject(subject))
        // A row has about 1,100 bytes, and up to 64 are written before old ones are removed.
        #expect((60...160).contains(left.count))
        #expect(left == left.indices.map { 400 - UInt64($0) })
        await rig.store.close()
    }

    @Test func `what is too old goes with the sweep, even if nothing is written`() async throws {
        let rig = try StoreTests.Rig()
        rig.store.keepHistory(HistoryLimits(keepMs: 60_000))
        _ = await rig.append([Self.item(1)], nowUnixMs: 1_000)
        _ = await rig.append([Self.item(2)], nowUnixMs: 50_000)
        #expect(try await Self.events(rig) == [2, 1])
        rig.time.set(62_000)
        _ = await rig.lease(nowUnixMs: 62_000)
        #expect(try await Self.events(rig) == [2])
        rig.time.set(150_000)
        _ = await rig.lease(nowUnixMs: 150_000)
        #expect(try await Self.events(rig).isEmpty)
        await rig.store.close()
    }

    @Test func `what was kept outlives a start, and goes only when somebody says so`() async throws
    {
        let first = try StoreTests.Rig()
        first.store.keepHistory(HistoryLimits())
        _ = await first.append([Self.item(1)], nowUnixMs: 100_000)
        await first.store.close()
        let rig = try StoreTests.Rig(folder: first.folder)
        // A gateway's first jobs, and those of a tool, come before it says how much is kept.
        rig.time.set(200_000)
        _ = await rig.lease(nowUnixMs: 200_000)
        #expect(try await Self.events(rig) == [1])
        rig.store.keepHistory(.none)
        rig.time.set(300_000)
        _ = await rig.lease(nowUnixMs: 300_000)
        #expect(try await Self.events(rig).isEmpty)
        await rig.store.close()
    }

    @Test func `rows of many megabytes are found in steps`() async throws {
        let rig = try StoreTests.Rig()
        rig.store.keepHistory(HistoryLimits())
        let long = String(repeating: "y", count: 100_000)
        for id in 1...100 as ClosedRange<UInt64> {
            _ = await rig.append([Self.item(id, subject: id % 50 == 1 ? "s" : long)])
        }
        #expect(try await Self.events(rig) == [51, 1])
        #expect(try await rig.store.history(HistorySearch([.event(100)])).next != nil)
        await rig.store.close()
    }

    @Test func `a full disk gets the room of old history, and events are refused at most so long`()
        async throws
    {
        let free = Mutex(UInt64.max)
        let rig = try StoreTests.Rig(freeBytes: { _ in free.withLock { $0 } })
        rig.store.keepHistory(HistoryLimits())
        let long = String(repeating: "y", count: 100_000)
        for id in 1...400 as ClosedRange<UInt64> {
            _ = await rig.append([Self.item(id, subject: long)])
        }
        #expect(try rig.count("history") == 400)
        free.withLock { $0 = StoreRoom.freeBytesMin - 1 }
        // Its 40 MB are room inside of the file.
        var answer: StoreTests.Answer?
        for id in 500...5_000 as ClosedRange<UInt64>
        where answer != .committed(duplicates: []) {
            answer = await rig.append([Self.item(id)])
            if answer != .committed(duplicates: []) { try await Task.sleep(for: .milliseconds(5)) }
        }
        #expect(answer == .committed(duplicates: []))
        await rig.store.close()
    }
}
