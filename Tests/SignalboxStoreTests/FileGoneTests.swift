import Foundation
import PluginRig
import SignalboxCore
import SignalboxStore
import Testing

/// The database file disappears while a store has it open.
@Suite struct FileGoneTests {
    @Test(arguments: [true, false])
    func `a database file that is removed or replaced is noticed, and when it is back`(
        isReplaced: Bool
    ) async throws {
        let clock = HandClock()
        let notices = StoreTests.Faults()
        let folder = Workshop.place().path
        let store = try SQLiteStore.open(
            SQLiteStore.Options(
                folder: folder, nowUnixMs: { clock.now }, onNotice: { notices.add($0.text) }))
        func look() async {
            clock.advance(ms: 11_000)
            await withCheckedContinuation { continuation in
                store.waitingLanes(dueForMs: nil) { _ in continuation.resume() }
            }
        }
        await look()
        #expect(!store.isFileGone && notices.value == [])
        let file = "\(folder)/signalbox.sqlite"
        try FileManager.default.moveItem(atPath: file, toPath: "\(file).away")
        if isReplaced { try Data().write(to: URL(filePath: file)) }
        await look()
        await look()
        #expect(store.isFileGone && notices.value.count == 1)
        let words = "\(file) or its -wal was removed or replaced"
        #expect(notices.value.first?.contains(words) == true)
        #expect(
            await Self.append(to: store, 1) == .failed("the gateway's database file was removed"))
        if isReplaced { try FileManager.default.removeItem(atPath: file) }
        try FileManager.default.moveItem(atPath: "\(file).away", toPath: file)
        await look()
        #expect(!store.isFileGone && notices.value.last?.hasSuffix("is back") == true)
        guard case .committed = await Self.append(to: store, 2) else {
            Issue.record("a file that is back takes no events")
            return
        }
        await store.close()
    }

    /// The log holds the newest commits.
    @Test(arguments: ["signalbox.sqlite", "signalbox.sqlite-wal"])
    func `an event is refused at once, not at the next look`(file: String) async throws {
        let folder = Workshop.place().path
        let store = try SQLiteStore.open(
            SQLiteStore.Options(
                folder: folder, nowUnixMs: { 1_000 }, onNotice: { _ in }))
        guard case .committed = await Self.append(to: store, 1) else {
            Issue.record("a whole store takes no events")
            return
        }
        try FileManager.default.removeItem(atPath: "\(folder)/\(file)")
        #expect(
            await Self.append(to: store, 2) == .failed("the gateway's database file was removed"))
        #expect(store.isFileGone)
        await store.close()
    }

    private static func append(to store: SQLiteStore, _ id: UInt64) async -> StoreAnswer {
        await withCheckedContinuation { continuation in
            store.append(
                StoreEntry(
                    items: [StoreTests.item([StoreTests.delivery(id)])], receivedUnixMs: 1_000,
                    dedupeMs: 0)
            ) { continuation.resume(returning: $0) }
        }
    }
}
