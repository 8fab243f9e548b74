import Foundation
import GRDB
import PluginRig
import SignalboxCore
import Testing

@testable import SignalboxStore

@Suite struct DurabilityTests {
    @Test func `every commit is synced to the disk before it is reported`() throws {
        let folder = Workshop.place().path
        let files = try StoreFiles(folder: folder)
        let queue = try files.database(bytesMax: 0)
        // 2 is FULL. With 1, NORMAL, the log is synced only when it is moved into the file.
        #expect(try queue.read { try Int.fetchOne($0, sql: "PRAGMA synchronous") } == 2)
        #expect(try queue.read { try String.fetchOne($0, sql: "PRAGMA journal_mode") } == "wal")
        try queue.close()
        files.unlock()
    }

    @Test func `a closed store leaves one file`() async throws {
        let rig = try StoreTests.Rig()
        _ = await rig.append([StoreTests.item([StoreTests.delivery(1)])])
        _ = try await rig.store.devices(app: "", user: "u")
        await rig.store.close()
        let files = try FileManager.default.contentsOfDirectory(atPath: rig.folder)
        #expect(Set(files) == ["signalbox.sqlite"])
    }
}
