import Foundation
import PluginRig
import SignalboxCore
import Testing

@testable import SignalboxStore

/// One gateway uses a data folder at a time.
@Suite struct StoreLockTests {
    @Test func `whatever is removed beside the database, a second gateway is kept out`()
        async throws
    {
        let rig = try StoreTests.Rig()
        _ = await rig.append([StoreTests.item([StoreTests.delivery(1)])])
        for name in try FileManager.default.contentsOfDirectory(atPath: rig.folder)
        where !name.hasPrefix("signalbox.sqlite") {
            try FileManager.default.removeItem(atPath: "\(rig.folder)/\(name)")
        }
        try Data().write(to: URL(filePath: "\(rig.folder)/lock"))
        let error = #expect(throws: StoreError.self) { try StoreTests.Rig(folder: rig.folder) }
        #expect(error?.code == "store-in-use")
        #expect(try SQLiteContents.status(folder: rig.folder).gateways.count == 1)
        await rig.store.close()
        #expect(try SQLiteContents.status(folder: rig.folder).gateways.isEmpty)
        let next = try StoreTests.Rig(folder: rig.folder)
        #expect(next.store.waitingCount == 1)
        await next.store.close()
    }
}
