import CLinux
import Foundation
import PluginRig
import SignalboxCore
import SignalboxCrypto
import SignalboxPluginHost
import Testing

/// Who may put code into the gateway: root, its own user, and the author of the file whose digest is in gateway.yaml.
@Suite struct PluginPlaceTests {
    /// A plugin two folders below a fresh one.
    private static func plugin() async throws -> (top: String, file: String) {
        let top = FileManager.default.temporaryDirectory.appending(path: UUID().uuidString)
        let folder = top.appending(path: "plugins")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        try FileManager.default.setAttributes(
            [.posixPermissions: 0o755], ofItemAtPath: folder.path)
        let file = folder.appending(path: "libmine.so").path
        try FileManager.default.copyItem(
            atPath: try await PluginRig.compile(LoadTests.source()), toPath: file)
        // Without links: as the search path gives it.
        return (
            try #require(PluginSearchPath.absolute(top.path)),
            try #require(PluginSearchPath.absolute(file))
        )
    }

    private static func digest(_ file: String) throws -> String {
        let bytes = Array(try Data(contentsOf: URL(filePath: file)))
        return Digest.sha256(bytes).map { String(format: "%02x", $0) }.joined()
    }

    private static func fault(_ file: String, sha256: String? = nil) throws -> LoadFault {
        try #require(
            #expect(throws: LoadFault.self) { try PluginLibrary.load(file, sha256: sha256) })
    }

    @Test
    func `a folder above that anybody may write to is refused, and one with the sticky bit is not`()
        async throws
    {
        let (top, file) = try await Self.plugin()
        chmod(top, 0o777)
        let fault = try Self.fault(file)
        #expect(fault.code == "plugin-file-unsafe")
        #expect(
            fault.message.hasSuffix(
                "the folder \(top) is writable by everybody (mode 0777): chmod o-w \(top)"),
            "\(fault)")
        chmod(top, 0o1777)
        #expect(try PluginLibrary.load(file).descriptor.path == file)
    }

    @Test(.enabled(if: geteuid() == 0, "only root can give files away"))
    func `a file or folder of another user or group is refused`() async throws {
        let (top, file) = try await Self.plugin()
        // A group without an entry, or with one: it is not root's own.
        for group: gid_t in [1, 54_321] {
            chown(file, 0, group)
            chmod(file, 0o664)
            #expect(try Self.fault(file).message.contains("chmod g-w \(file)"))
            chmod(file, 0o644)
            #expect(throws: Never.self) { try PluginLibrary.load(file) }
        }
        chown(top, 54_321, 0)
        #expect(try Self.fault(file).message.contains("the folder \(top) belongs to user 54321"))
        chown(top, 0, 0)
        chmod(top, 0o775)
        #expect(throws: Never.self) { try PluginLibrary.load(file) }
        chown(file, 54_321, 54_321)
        #expect(try Self.fault(file).message.contains("belongs to user 54321"))
    }

    @Test func `with a digest nothing else is loaded, wherever the file is`() async throws {
        let (top, file) = try await Self.plugin()
        let digest = try Self.digest(file)
        chmod(top, 0o777)
        chmod(file, 0o666)
        let library = try PluginLibrary.load(file, sha256: digest.uppercased())
        #expect(try PluginLibrary.load(file, sha256: digest) === library)
        // Behind the part that the loader maps.
        let handle = try FileHandle(forWritingTo: URL(filePath: file))
        try handle.seekToEnd()
        try handle.write(contentsOf: Data([0]))
        try handle.close()
        let fault = try Self.fault(file, sha256: digest)
        #expect(fault.code == "plugin-other-digest")
        #expect(fault.message.contains(try Self.digest(file)))
        #expect(try Self.fault(file).code == "plugin-file-unsafe")
    }

    @Test func `an isolated plugin with a digest is described and run, and no other file is`()
        async throws
    {
        let (top, file) = try await Self.plugin()
        let digest = try Self.digest(file)
        chmod(top, 0o777)
        var options = IsolationOptions()
        options.runner = try PluginRig.runner()
        let library = try IsolatedLibrary.inspect(file, options: options, sha256: digest)
        #expect(library.descriptor.wantedSHA256 == digest)
        let open = #expect(throws: LoadFault.self) {
            try IsolatedLibrary.inspect(file, options: options)
        }
        #expect(open?.code == "plugin-file-unsafe")
        let other = #expect(throws: LoadFault.self) {
            try IsolatedLibrary.inspect(
                file, options: options, sha256: String(repeating: "0", count: 64))
        }
        #expect(other?.code == "plugin-other-digest", "\(other?.message ?? "")")
        let instance = try await PluginRig.isolated(file, sha256: digest, services: RigServices())
        #expect(await instance.stop(deadlineMs: 5_000))
        // Between the check and the start, by another user who may write there.
        let changed = try await PluginRig.compile(LoadTests.source("plugin.version = \"0.2\";"))
        try FileManager.default.removeItem(atPath: file)
        try FileManager.default.copyItem(atPath: changed, toPath: file)
        let late = await #expect(throws: PluginFault.self) {
            try await IsolatedInstance.create(
                name: "late", library: library.descriptor, config: CheckedConfig(json: .object([])),
                version: "test",
                options: options, services: RigServices())
        }
        #expect(
            late?.message.contains("not the one in gateway.yaml") == true, "\(late?.message ?? "")")
    }

    @Test
    func `a sandbox loads the file with the digest alone, and only if nobody else can change it`()
        async throws
    {
        let (top, file) = try await Self.plugin()
        let digest = try Self.digest(file)
        let instance = try await PluginRig.isolated(
            file, sha256: digest, services: RigServices(), confinement: .sandbox)
        #expect(await instance.stop(deadlineMs: 5_000))
        func fault(_ sha256: String) async throws -> LoadFault {
            try #require(
                await #expect(throws: LoadFault.self) {
                    try await PluginRig.isolated(
                        file, sha256: sha256, services: RigServices(), confinement: .sandbox)
                })
        }
        #expect(
            try await fault(String(repeating: "0", count: 64)).code == "plugin-other-digest")
        chmod(top, 0o777)
        #expect(try await fault(digest).code == "plugin-file-unsafe")
    }
}
