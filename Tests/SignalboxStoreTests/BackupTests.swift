import Foundation
import GRDB
import PluginRig
import SignalboxCore
import Testing

/// What docs/operations.md says about backups.
@Suite struct BackupTests {
    typealias Rig = StoreTests.Rig

    @Test func `a backup of an open database starts where it was made`() async throws {
        let rig = try Rig()
        _ = await rig.append([StoreTests.item((UInt64(1)...3).map { StoreTests.delivery($0) })])
        await rig.settle(await rig.lease(max: 1).deliveries.map { .delivered($0.id) })
        let place = Workshop.place().path
        try FileManager.default.createDirectory(
            atPath: place, withIntermediateDirectories: true)
        let queue = try rig.connection()
        try await queue.writeWithoutTransaction { db in
            try db.execute(sql: "VACUUM INTO '\(place)/signalbox.sqlite'")
        }
        try queue.close()
        await rig.settle(await rig.lease(nowUnixMs: 9_000).deliveries.map { .delivered($0.id) })
        #expect(rig.store.waitingCount == 0)
        await rig.store.close()
        let restored = try Rig(folder: place)
        #expect(restored.store.waitingCount == 2)
        #expect(await restored.lease().deliveries.map(\.id) == [2, 3])
        await restored.store.close()
    }
}
