import Foundation
import PluginRig
import Signalbox
import SignalboxCore
import SignalboxHTTP
import SignalboxJSON
import Testing

/// A running gateway is told to reload, and says what that has changed.
@Suite struct ReloadOrderTests {
    private static let second =
        "\n  - { name: second, from: z, when: { type: { prefix: ticket. } }, send: { ios: apns } }"

    /// A gateway whose admin listener has a known port, so that commands find it.
    private static func rig(
        _ settings: String = "", change: (inout GatewayOptions) -> Void = { _ in }
    ) async throws -> (rig: GatewayRig, text: String, file: String) {
        let port = try OwnPort.take()
        let rig = try await GatewayRig(
            change: change, config: { AdminTests.config($0, settings, "127.0.0.1:\(port)") })
        let file = rig.folder.appending(path: "gateway.yaml").path
        return (rig, try String(contentsOfFile: file, encoding: .utf8), file)
    }

    private static func write(_ text: String, _ file: String) throws {
        try text.write(toFile: file, atomically: true, encoding: .utf8)
    }

    @Test func `the command waits for the reload and says what changed`() async throws {
        let (rig, text, file) = try await Self.rig()
        let none = try await ProgramTests.run(["reload", "--config", file])
        #expect(none.status == 0, "\(none.text)")
        #expect(
            none.output.hasPrefix("reloaded, nothing has changed\n  plugins kept: apns, fcm, z"))
        try Self.write(
            text.replacing("request_timeout_ms: 10000", with: "request_timeout_ms: 9000")
                .replacing("drain: 5s", with: "drain: 4s, name: other")
                .replacing("android: fcm", with: "web: fcm")
                + Self.second, file)
        let check = try await ProgramTests.run(["reload", "--check", "--config", file])
        #expect(check.status == 0, "\(check.text)")
        let lines = [
            "  routes added: second", "  routes changed: replies", "  plugins replaced: apns, fcm",
            "  plugins kept: z", "  settings changed: drain", "  needs a restart: name",
        ]
        #expect(
            check.output == (["a reload would be accepted"] + lines + [""]).joined(separator: "\n"))
        let done = try await ProgramTests.run(["reload", "--config", file])
        #expect(done.output == (["reloaded"] + lines + [""]).joined(separator: "\n"))
        let json = try await ProgramTests.run(["reload", "--json", "--config", file])
        let report = try JSONValue.parse(Array(json.output.utf8))
        #expect(report["plugins"]?["kept"]?.text == #"["apns","fcm","z"]"#)
        #expect(report["need_restart"]?.text == #"["name"]"#)
        await rig.end()
    }

    @Test func `a reload with faults names them, exits 78 and changes nothing`() async throws {
        let (rig, text, file) = try await Self.rig()
        try Self.write(text.replacing("from: z", with: "from: y"), file)
        for arguments in [["--check"], []] {
            let ended = try await ProgramTests.run(["reload", "--config", file] + arguments)
            #expect(ended.status == 78, "\(ended.text)")
            #expect(ended.errors.contains("unknown-plugin"), "\(ended.text)")
            #expect(ended.errors.contains("keeps its current configuration"))
        }
        // A file that is no YAML does not say which gateway to ask; the one at the default address must not be asked.
        try Self.write(text + "\nroutes: [", file)
        let broken = try await ProgramTests.run(["reload", "--config", file])
        #expect(broken.status == 78 && broken.errors.contains("not-yaml"), "\(broken.text)")
        try Self.write(text, file)
        try await rig.post(GatewayRig.webhook([("ios", "i")]))
        #expect(await rig.delivered(rig.simulators.apns, 1) == ["i"])
        await rig.gateway.stop()
        let gone = try await ProgramTests.run(["reload", "--config", file])
        #expect(gone.status == 1 && gone.errors.contains("no gateway answers"), "\(gone.text)")
        await rig.end()
    }

    @Test func `a file with which the next start would fail is refused`() async throws {
        let (rig, text, file) = try await Self.rig()
        let other = try await WebServer.start()
        let listen = #"listen: "127.0.0.1:0""#
        for (change, words) in [
            (#"listen: "127.0.0.1:\#(other.port)""#, "cannot-listen: gateway.listen"),
            (#"listen: "192.0.2.1:8080""#, "cannot-listen: gateway.listen"),
            (listen + ", data: missing/data", "store-not-writable: gateway.data"),
            (listen + ", data: gateway.yaml", "is not a folder"),
        ] {
            try Self.write(text.replacing(listen, with: change), file)
            let fault = await #expect(throws: ConfigurationError.self) {
                try await rig.gateway.reload()
            }
            #expect(fault?.description.contains(words) == true, "\(change)")
        }
        // The gateway itself has the port, and will be gone by then; a missing folder is made.
        let own = #"listen: "0.0.0.0:\#(rig.gateway.port)", data: fresh"#
        try Self.write(text.replacing(listen, with: own), file)
        #expect(try await rig.gateway.reload().needRestart == ["listen", "data"])
        await other.shutdown()
        await rig.end()
    }

    /// A server that has a port.
    private enum WebServer {
        struct Nobody: AsyncHTTPServerHandler {
            func refusal(method: String, path: String) -> HTTPServerAnswer? { nil }
            func answer(_ request: HTTPServerRequest) async -> HTTPServerAnswer {
                HTTPServerAnswer(status: 200)
            }
        }

        static func start() async throws -> HTTPServer {
            try await HTTPServer.start(
                HTTPServerOptions(host: "127.0.0.1", port: 0),
                logger: .init(label: "test"), handler: Nobody())
        }
    }
}
