import Foundation
import GRDB
import PluginRig
import SignalboxCore
import Testing

@testable import SignalboxStore

/// A write-ahead log with damaged bytes, as a process that was killed leaves it behind.
@Suite struct LogDamageTests {
    /// The folder of a process that was killed after so many commits, and before a checkpoint.
    static func folder(commits: Int, damage: (inout [UInt8]) -> Void) async throws -> String {
        let rig = try StoreTests.Rig()
        _ = await rig.append([StoreTests.item([StoreTests.delivery(1)])])
        await rig.store.close()
        let queue = try rig.connection()
        try await queue.writeWithoutTransaction { db in
            try db.execute(sql: "PRAGMA wal_autocheckpoint = 0")
            for key in 1...commits {
                try db.execute(
                    sql: "INSERT INTO value VALUES ('z', ?, x'00', NULL)", arguments: ["\(key)"])
            }
        }
        let copy = Workshop.place().path
        try FileManager.default.createDirectory(atPath: copy, withIntermediateDirectories: true)
        for name in ["signalbox.sqlite", "signalbox.sqlite-wal"] {
            try FileManager.default.copyItem(
                atPath: "\(rig.folder)/\(name)", toPath: "\(copy)/\(name)")
        }
        try queue.close()
        let log = URL(filePath: copy).appending(path: "signalbox.sqlite-wal")
        var bytes = try Array(Data(contentsOf: log))
        damage(&bytes)
        try Data(bytes).write(to: log)
        return copy
    }

    /// At this part of the log, at least one frame after its beginning.
    static func damage(_ bytes: inout [UInt8], at share: Double) {
        let start = max(4_200, Int(Double(bytes.count) * share))
        for index in start..<start + 100 { bytes[index] ^= 0x5A }
    }

    @Test(arguments: [0.1, 0.5])
    func `commits behind damaged bytes are reported, and the log is kept`(share: Double)
        async throws
    {
        let folder = try await Self.folder(commits: 40) { Self.damage(&$0, at: share) }
        let before = try Data(contentsOf: URL(filePath: "\(folder)/signalbox.sqlite-wal"))
        let rig = try StoreTests.Rig(folder: folder)
        let kept = "\(folder)/signalbox.sqlite-wal.damaged"
        #expect(try Data(contentsOf: URL(filePath: kept)) == before)
        #expect(rig.faults.value.first?.contains("commits cannot be read") == true)
        #expect(rig.faults.value.first?.contains(kept) == true)
        #expect(rig.store.waitingCount == 1)
        await rig.store.close()
    }

    @Test(arguments: [true, false])
    func `a log without its database is not taken for a new store`(isEmpty: Bool) async throws {
        let folder = try await Self.folder(commits: 5) { _ in }
        let (path, log) = ("\(folder)/signalbox.sqlite", "\(folder)/signalbox.sqlite-wal")
        let before = try Data(contentsOf: URL(filePath: log))
        try FileManager.default.removeItem(atPath: path)
        if isEmpty { try Data().write(to: URL(filePath: path)) }
        #expect(SQLiteContents.startFault(folder: folder)?.code == "store-damaged")
        let fault = #expect(throws: StoreError.self) { _ = try StoreTests.Rig(folder: folder) }
        #expect(fault?.code == "store-damaged")
        #expect(fault?.message.contains(isEmpty ? "is empty" : "is missing") == true)
        #expect(try Data(contentsOf: URL(filePath: log)) == before)
        try FileManager.default.removeItem(atPath: log)
        let rig = try StoreTests.Rig(folder: folder)
        await rig.store.close()
    }

    @Test func `a damaged header hides the whole log`() async throws {
        let folder = try await Self.folder(commits: 5) { $0[17] ^= 0xFF }
        #expect(LogDamage.find(database: "\(folder)/signalbox.sqlite")?.commits == 5)
    }

    @Test func `a whole log, a cut one, one torn commit and none are no damage`() async throws {
        let whole = try await Self.folder(commits: 10) { _ in }
        #expect(LogDamage.find(database: "\(whole)/signalbox.sqlite") == nil)
        let rig = try StoreTests.Rig(folder: whole)
        #expect(rig.faults.value == [])
        await rig.store.close()
        #expect(LogDamage.find(database: "\(whole)/signalbox.sqlite") == nil)
        let cut = try await Self.folder(commits: 10) { $0.removeLast(5_000) }
        #expect(LogDamage.find(database: "\(cut)/signalbox.sqlite") == nil)
        let torn = try await Self.folder(commits: 10) { $0[$0.count - 50] ^= 0x5A }
        #expect(LogDamage.find(database: "\(torn)/signalbox.sqlite") == nil)
        #expect(LogDamage.find(database: Workshop.place().path) == nil)
    }
}
