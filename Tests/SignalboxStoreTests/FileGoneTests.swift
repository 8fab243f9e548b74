import Foundation
import PluginRig
import SignalboxCore
import SignalboxStore
import Testing

/// The database file is taken away from a store that has it open.
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
        #expect(notices.value.first?.contains("\(file) was removed or replaced") == true)
        if isReplaced { try FileManager.default.removeItem(atPath: file) }
        try FileManager.default.moveItem(atPath: "\(file).away", toPath: file)
        await look()
        #expect(!store.isFileGone && notices.value.last?.hasSuffix("is back") == true)
        await store.close()
    }
}
