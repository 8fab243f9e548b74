import Foundation
import SignalboxCore
import SignalboxStore
import Testing

@Suite struct FileModeTests {
    private static let names: Set = [
        "signalbox.sqlite", "signalbox.sqlite-wal", "signalbox.sqlite-shm",
    ]

    private static func folder() throws -> String {
        let folder = FileManager.default.temporaryDirectory.appending(path: UUID().uuidString)
        try FileManager.default.createDirectory(
            at: folder, withIntermediateDirectories: true, attributes: [.posixPermissions: 0o755])
        return folder.path
    }

    /// The mode of each file in a folder.
    private static func modes(_ folder: String) throws -> [String: Int] {
        var modes: [String: Int] = [:]
        for name in try FileManager.default.contentsOfDirectory(atPath: folder) {
            let facts = try FileManager.default.attributesOfItem(atPath: "\(folder)/\(name)")
            modes[name] = facts[.posixPermissions] as? Int
        }
        return modes
    }

    @Test func `in a folder that everybody may read only the owner reads the files`() async throws {
        let rig = try StoreTests.Rig(folder: try Self.folder())
        _ = await rig.append([StoreTests.item([StoreTests.delivery(1)])])
        let modes = try Self.modes(rig.folder)
        #expect(Set(modes.keys) == Self.names)
        #expect(modes.values.allSatisfy { $0 == 0o600 }, "\(modes)")
        await rig.store.close()
    }

    @Test(arguments: [0o644, 0o660, 0o666])
    func `files that others may read are made private`(mode: Int) async throws {
        let folder = try Self.folder()
        let first = try StoreTests.Rig(folder: folder)
        _ = await first.append([StoreTests.item([StoreTests.delivery(1)])])
        await first.store.close()
        // A crash leaves the log and its index behind.
        for name in Self.names {
            let file = "\(folder)/\(name)"
            if !FileManager.default.fileExists(atPath: file) {
                #expect(FileManager.default.createFile(atPath: file, contents: nil))
            }
            try FileManager.default.setAttributes([.posixPermissions: mode], ofItemAtPath: file)
        }
        let rig = try StoreTests.Rig(folder: folder)
        #expect(rig.store.waitingCount == 1)
        _ = await rig.append([StoreTests.item([StoreTests.delivery(2)])])
        let modes = try Self.modes(folder)
        #expect(Set(modes.keys) == Self.names)
        #expect(modes.values.allSatisfy { $0 == 0o600 }, "\(modes)")
        await rig.store.close()
    }

    @Test func `the files are private whatever the umask is, those of a copy, too`() async {
        // The umask is that of a whole process.
        await #expect(processExitsWith: .success) {
            umask(0)
            let parent = try Self.folder()
            let folder = "\(parent)/data"
            let rig = try StoreTests.Rig(folder: folder)
            _ = await rig.append([StoreTests.item([StoreTests.delivery(1)])])
            let running = try Self.modes(folder)
            await rig.store.close()
            let (source, target) = (
                try SQLiteContents(folder: folder, .source),
                try SQLiteContents(folder: "\(parent)/copy", .target)
            )
            _ = try StoreCopy(from: source, to: target).run { _ in }
            let copied = try Self.modes("\(parent)/copy")
            let folders = try Self.modes(parent)
            #expect(Set(running.keys) == Self.names)
            #expect((Array(running.values) + copied.values).allSatisfy { $0 == 0o600 })
            #expect(folders == ["data": 0o700, "copy": 0o700])
        }
    }
}
