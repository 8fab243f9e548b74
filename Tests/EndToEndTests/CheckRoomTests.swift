import Foundation
import PluginRig
import Signalbox
import Synchronization
import Testing

/// What `check` says about sockets and a disk that a start would miss.
@Suite struct CheckRoomTests {
    /// A gateway.yaml in a folder of its own, with its data beside it.
    private static func options(
        _ gateway: String
    ) throws -> (options: GatewayOptions, folder: String) {
        let folder = try Workshop.folder("check")
        let file = folder.appending(path: "gateway.yaml")
        try """
        version: 1
        gateway: { \(gateway) }
        plugins:
          z: { library: Zendesk, config: { path: /in/z } }
          apns:
            library: APNs
            config: { team_id: ABCDE12345, key_id: FGHIJ67890, key: "${env:KEY}", topic: t }
        routes: [ { name: r, from: z, send: { ios: apns } } ]
        """.write(to: file, atomically: true, encoding: .utf8)
        var options = GatewayOptions(configPath: file.path)
        options.searchPath.folders = [try GatewayRig.pluginFolder()]
        options.environment.variables["KEY"] = String(
            decoding: try CheckTests.key.get(), as: UTF8.self)
        options.silence()
        return (options, folder.path)
    }

    private static func warnings(_ options: GatewayOptions) async throws -> [String] {
        try await Gateway.check(options).filter { $0.code != "unreported" }.map {
            "\($0.position.line): \($0.code): \($0.message)"
        }
    }

    @Test func `a socket on which another process listens is named, and the gateway's own is not`()
        async throws
    {
        // The path of a socket has at most 107 bytes.
        let sockets = "/tmp/sbx-\(UUID().uuidString.prefix(8))"
        try FileManager.default.createDirectory(
            atPath: sockets, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(atPath: sockets) }
        let listeners = "listen: \"unix:\(sockets)/in\", admin: \"unix:\(sockets)/admin\""
        let (own, _) = try Self.options(listeners)
        // A copy of the file, with data of its own.
        let (copy, _) = try Self.options(listeners)
        #expect(try await Self.warnings(own) == [])
        let gateway = try await Gateway.start(own)
        #expect(try await Self.warnings(own) == [])
        let found = try await Self.warnings(copy)
        #expect(found.count == 2)
        for (line, part) in zip(found, ["listen", "admin"]) {
            let start = "2: socket-in-use: gateway.\(part): process \(getpid()) ("
            #expect(line.hasPrefix(start), "\(line)")
            #expect(line.contains(") listens on \(sockets)/"), "\(line)")
        }
        await gateway.stop()
        #expect(try await Self.warnings(copy) == [])
    }

    @Test func `a disk with less than 64 MiB is named before events are refused`() async throws {
        var (options, folder) = try Self.options("listen: \"127.0.0.1:0\", admin: false, data: d")
        let disk = Disk()
        options.freeBytes = { disk.free($0) }
        #expect(try await Self.warnings(options) == [])
        disk.bytes.withLock { $0 = (64 << 20) - 1 }
        #expect(
            try await Self.warnings(options) == [
                "2: disk-nearly-full: gateway.data: its disk has 63 MiB left, and should have 64: "
                    + "without room, events are answered 503"
            ])
        // A start makes the folder.
        #expect(Set(disk.asked.withLock { $0 }) == [folder])
        mkdir("\(folder)/d", 0o700)
        _ = try await Self.warnings(options)
        #expect(disk.asked.withLock { $0.last } == "\(folder)/d")
    }
}

/// A disk with as much room as a test says.
private final class Disk: Sendable {
    let bytes = Mutex<UInt64>(64 << 20)
    let asked = Mutex<[String]>([])

    func free(_ path: String) -> UInt64 {
        asked.withLock { $0.append(path) }
        return bytes.withLock { $0 }
    }
}
