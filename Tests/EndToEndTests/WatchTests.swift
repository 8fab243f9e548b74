import Foundation
import PluginRig
import Signalbox
import SignalboxHTTP
import Testing

/// Changed files are applied without being told to, however they come into place.
@Suite struct WatchTests {
    private static func config(_ path: String, _ rig: GatewayRig) -> String {
        GatewayRig.yaml(rig.simulators)
            .replacing("drain: 5s", with: "drain: 5s, watch: true")
            .replacing("path: /in/z ", with: "path: \(path) ")
    }

    /// Waits until the gateway answers under a path.
    private static func waitFor(_ path: String, _ rig: GatewayRig) async throws -> Bool {
        for _ in 0..<5_000 where try await rig.post("", path: path, method: "GET").status != 405 {
            await Task.yield()
        }
        return try await rig.post("", path: path, method: "GET").status == 405
    }

    private static func rig(_ prepare: (URL) throws -> Void = { _ in }) async throws -> GatewayRig {
        try await GatewayRig(
            change: { $0.watchIntervalMs = 20 },
            config: {
                GatewayRig.yaml($0)
                    .replacing("drain: 5s", with: "drain: 5s, watch: true")
            }, prepare: { try prepare($1) })
    }

    @Test func `an editor writes into the file, or renames another over it`() async throws {
        let rig = try await Self.rig()
        let file = rig.file
        for (number, isRename) in [true, false, true].enumerated() {
            let path = "/in/\(number)"
            try Self.config(path, rig).write(to: file, atomically: isRename, encoding: .utf8)
            #expect(try await Self.waitFor(path, rig), "\(path)")
        }
        await rig.end()
    }

    @Test func `Kubernetes swaps a link to the folder of all files`() async throws {
        let rig = try await Self.rig { folder in
            let manager = FileManager.default
            let first = folder.appending(path: "..first")
            try manager.createDirectory(at: first, withIntermediateDirectories: true)
            try manager.moveItem(
                at: folder.appending(path: "gateway.yaml"),
                to: first.appending(path: "gateway.yaml"))
            for (link, target) in [("..data", "..first"), ("gateway.yaml", "..data/gateway.yaml")] {
                try manager.createSymbolicLink(
                    atPath: folder.appending(path: link).path, withDestinationPath: target)
            }
        }
        let manager = FileManager.default
        for name in ["second", "third"] {
            let next = rig.folder.appending(path: "..\(name)")
            try manager.createDirectory(at: next, withIntermediateDirectories: true)
            try Self.config("/in/\(name)", rig).write(
                to: next.appending(path: "gateway.yaml"), atomically: false, encoding: .utf8)
            let link = rig.folder.appending(path: "..data").path
            try manager.createSymbolicLink(
                atPath: link + "_tmp", withDestinationPath: "..\(name)")
            try #require(rename(link + "_tmp", link) == 0)
            #expect(try await Self.waitFor("/in/\(name)", rig), "\(name)")
        }
        await rig.end()
    }

    @Test func `a file with a fault is left alone until it changes again`() async throws {
        let rig = try await Self.rig()
        let file = rig.file
        try Self.config("/in/other", rig).replacing("from: z", with: "from: y").write(
            to: file, atomically: true, encoding: .utf8)
        while !rig.log.all.contains(where: { $0.contains("reload rejected") }) {
            await Task.yield()
        }
        try Self.config("/in/other", rig).write(to: file, atomically: true, encoding: .utf8)
        #expect(try await Self.waitFor("/in/other", rig))
        #expect(rig.log.all.filter { $0.contains("reload rejected") }.count == 1)
        #expect(try await rig.post("", path: "/in/z", method: "GET").status == 404)
        await rig.end()
    }
}
