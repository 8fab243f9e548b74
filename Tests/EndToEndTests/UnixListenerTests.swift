import Foundation
import PluginRig
import Signalbox
import SignalboxAdmin
import SignalboxCore
import SignalboxHTTP
import SignalboxJSON
import Testing

/// Listeners on Unix sockets: the file's owner and group decide who gets in.
@Suite struct UnixListenerTests {
    /// A short folder: the path of a socket has at most 107 bytes.
    private static func folder() throws -> URL {
        let folder = URL(filePath: "/tmp").appending(path: "sbx-\(UUID().uuidString.prefix(8))")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        return folder
    }

    private static func rig(_ folder: URL, _ more: String = "") async throws -> GatewayRig {
        try await GatewayRig(config: { simulators in
            GatewayRig.plugins(simulators).replacing(
                #"listen: "127.0.0.1:0", admin: "127.0.0.1:0""#,
                with:
                    "listen: unix:\(folder.path)/in.sock, admin: \"unix:\(folder.path)/admin.sock\""
                    + more) + "\n" + GatewayRig.routes
        })
    }

    private static func ask(
        _ rig: GatewayRig, _ socket: URL, _ method: String, _ path: String, _ body: String = ""
    ) async throws -> (status: UInt32, text: String) {
        var call = RESTCall(
            method: method, url: "http://localhost\(path)", body: Array(body.utf8))
        call.socket = socket.path
        call.headers = [Attribute("content-type", "application/json")]
        let answer = try await rig.client.patient(call)
        return (answer.status, String(decoding: answer.body, as: UTF8.self))
    }

    @Test
    func
        `webhooks and an operator's commands go through sockets, and their files go with the gateway`()
        async throws
    {
        let folder = try Self.folder()
        defer { try? FileManager.default.removeItem(at: folder) }
        let (hooks, admin) = (
            folder.appending(path: "in.sock"), folder.appending(path: "admin.sock")
        )
        let rig = try await Self.rig(folder, ", audit: audit.log")
        #expect(
            try await Self.ask(rig, hooks, "POST", "/in/z", GatewayRig.webhook([("ios", "t1")]))
                .status == 200)
        #expect(await rig.delivered(rig.simulators.apns, 1) == ["t1"])
        #expect(try await Self.ask(rig, admin, "GET", "/readyz").status == 200)
        for file in [hooks, admin] {
            let facts = try FileManager.default.attributesOfItem(atPath: file.path)
            #expect(facts[.posixPermissions] as? Int == 0o660)
        }
        // As `signalbox pause` and `signalbox waiting list` ask.
        var options = GatewayOptions(
            configPath: rig.folder.appending(path: "gateway.yaml").path)
        options.addPluginFolders([try GatewayRig.pluginFolder()])
        #expect(try await AdminReport.waiting(options).text.contains("apns"))
        #expect(
            try await Self.ask(rig, admin, "POST", "/pause", #"{"sender":"apns"}"#).status == 200)
        let audit = try String(
            contentsOf: rig.folder.appending(path: "audit.log"), encoding: .utf8)
        #expect(audit.contains(#""address":"uid:\#(geteuid())""#), "\(audit)")
        await rig.end()
        for file in [hooks, admin] {
            #expect(!FileManager.default.fileExists(atPath: file.path))
        }
        await #expect(throws: (any Error).self) { try await AdminReport.waiting(options) }
    }

    /// Cleaners of `/tmp` remove sockets that nobody has touched for days.
    @Test func `a socket whose file is removed comes back`() async throws {
        let folder = try Self.folder()
        defer { try? FileManager.default.removeItem(at: folder) }
        let file = folder.appending(path: "in.sock")
        let rig = try await Self.rig(folder)
        let body = GatewayRig.webhook([("ios", "t1")])
        #expect(try await Self.ask(rig, file, "POST", "/in/z", body).status == 200)
        try FileManager.default.removeItem(at: file)
        try await until("the socket is back") {
            FileManager.default.fileExists(atPath: file.path)
        }
        // It may be bound for a moment before it listens.
        var status: UInt32?
        for _ in 0..<10_000 where status == nil {
            status = try? await Self.ask(rig, file, "POST", "/in/z", body).status
        }
        #expect(status == 200)
        let facts = try FileManager.default.attributesOfItem(atPath: file.path)
        #expect(facts[.posixPermissions] as? Int == 0o660)
        await rig.end()
        #expect(!FileManager.default.fileExists(atPath: file.path))
    }

    @Test func `a file that a killed gateway left is replaced, and nothing else is`() async throws {
        let folder = try Self.folder()
        defer { try? FileManager.default.removeItem(at: folder) }
        let file = folder.appending(path: "in.sock")
        // Bound, and closed without unlinking.
        let left = try UnixName(file.path)
        left.end()
        let rig = try await Self.rig(folder)
        #expect(
            try await Self.ask(rig, file, "POST", "/in/z", GatewayRig.webhook([("ios", "t1")]))
                .status == 200)
        await #expect {
            _ = try await Self.rig(folder)
        } throws: { error in
            "\(error)".contains(
                "gateway.listen: cannot listen on unix:\(file.path): somebody listens")
        }
        // A gateway that stops leaves what others have put in its place.
        try FileManager.default.removeItem(at: file)
        try "mine".write(to: file, atomically: true, encoding: .utf8)
        await rig.end()
        await #expect {
            _ = try await Self.rig(folder)
        } throws: { error in
            "\(error)".contains("there is a file that is no socket")
        }
        #expect(try String(contentsOf: file, encoding: .utf8) == "mine")
    }
}

/// A bound Unix socket.
private struct UnixName {
    private let descriptor: Int32

    init(_ path: String) throws {
        descriptor = socket(AF_UNIX, Int32(SOCK_STREAM.rawValue), 0)
        var address = sockaddr_un()
        address.sun_family = sa_family_t(AF_UNIX)
        withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: path.utf8) }
        let status = withUnsafePointer(to: &address) {
            $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                bind(descriptor, $0, socklen_t(MemoryLayout<sockaddr_un>.size))
            }
        }
        try #require(status == 0)
    }

    func end() { close(descriptor) }
}
