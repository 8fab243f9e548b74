import Foundation
import PluginRig
import SignalboxCore
import SignalboxPluginHost
import Testing

/// A plugin that breaks each rule of the contract, and the host's reaction; see docs/abi.md.
@Suite struct MisbehaviourTests {
    private static let library = Task.detached {
        try await compile("misbehaving", [])
    }

    private static func compile(_ name: String, _ flags: [String]) async throws -> String {
        let folder = try Workshop.folder()
        let source = PluginRig.root.appending(
            path: "Tests/ContractTests/Plugins/Misbehaving/\(name).c"
        ).path
        return try await PluginRig.compile(
            file: source, to: folder.appending(path: "lib\(name).so").path, flags: flags)
    }

    private let services = RigServices()

    private func instance(_ rule: String) async throws -> PluginInstance {
        try await PluginRig.instance(
            of: try await Self.library.value, config: ["rule": .string(rule)],
            secrets: ["s": [1]], services: services)
    }

    private static func deliveries(_ count: UInt64) -> [Delivery] {
        let content = SharedNotification(PushNotification(), receivedUnixMs: 0)
        return (1...count).map {
            Delivery(
                id: $0, eventID: 1, route: "r", sender: "s", stableID: "id", deadlineUnixMs: 0,
                content: content, device: Device(token: "t"))
        }
    }

    @Test(arguments: [
        ("no-instance", "create() returned OK without an instance"),
        ("unknown-status", "the plugin returned the unknown status 77"),
        ("long-error", String(repeating: "e", count: 244)),
    ])
    func `what goes wrong at the start is an error with words`(
        rule: String, words: String
    ) async throws {
        let fault = await #expect(throws: PluginFault.self) { _ = try await instance(rule) }
        #expect(fault?.message == words)
    }

    @Test(arguments: [
        ("forget", ["forgot 3 of 3 items"], "plugin_forgot"),
        (
            "unknown-kind", Array(repeating: "gave an outcome of the unknown kind 99", count: 3),
            "plugin_bad_kind"
        ),
        (
            "long-reason",
            Array(repeating: "gave a reason of 3145728 bytes; at most 128", count: 3),
            String(repeating: "x", count: 128)
        ),
        ("long-request", Array(repeating: "wrote a request of over 1048576 bytes", count: 3), "ok"),
        (
            "long-header",
            Array(repeating: "wrote a request of over 65536 bytes of path and headers", count: 3),
            "ok"
        ),
        ("twice", [], "ok"),
        ("part-and-failure", ["took a part of a batch and failed"], "ok"),
        (
            "wrong-thread",
            [
                "called call() of sbx.http/1 outside of a [control] call",
                "called define() of sbx.credential/1 outside of a [control] call",
                "called watch() of sbx.secrets/1 outside of a [control] call",
            ], "ok"
        ),
    ])
    func `a batch is settled once, whatever the plugin does`(
        rule: String, said: [String], reason: String
    ) async throws {
        let instance = try await instance(rule)
        let role = try #require(SendHTTPRole(instance))
        guard case .ready(_, let settled) = role.prepare(app: "", deliveries: Self.deliveries(3))
        else { throw PluginRig.Failure(description: "not ready") }
        #expect(settled.map(\.item) == [1, 2, 3])
        #expect(settled.allSatisfy { $0.reason == reason })
        #expect(services.faults == said.map { "test: \($0)" })
        #expect(await instance.stop(deadlineMs: 5_000))
    }

    @Test func `an unknown status of a call is a failure with words`() async throws {
        let instance = try await instance("status-of-prepare")
        let role = try #require(SendHTTPRole(instance))
        guard case .failed(let fault) = role.prepare(app: "", deliveries: Self.deliveries(1))
        else { throw PluginRig.Failure(description: "it did not fail") }
        #expect(fault.message == "the plugin returned the unknown status 77")
        let (settled, _) = role.classify(
            app: "", responses: [HTTPResponse(status: 200, items: [1])])
        #expect(settled.map(\.reason) == ["plugin_forgot"])
        #expect(services.faults.first?.contains("classify failed") == true)
        #expect(await instance.stop(deadlineMs: 5_000))
    }

    @Test func `a sink is dead when its call is over, whoever holds it`() async throws {
        let instance = try await instance("late-sink")
        let role = try #require(SendHTTPRole(instance))
        for _ in 0..<2 {
            guard
                case .ready(_, let settled) = role.prepare(app: "", deliveries: Self.deliveries(1))
            else { throw PluginRig.Failure(description: "not ready") }
            #expect(settled.map(\.reason) == ["ok"])
        }
        #expect(services.faults == ["test: used a sink after its call had returned"])
        #expect(await instance.stop(deadlineMs: 5_000))
    }

    @Test(arguments: [
        ("late-ingest", "used a sink after its call had returned"),
        ("finish-twice", "called finish() twice or without defer()"),
    ])
    func `a request ends once`(rule: String, said: String) async throws {
        let instance = try await instance(rule)
        let role = try #require(try await IngestRole(instance, limits: Limits()))
        for _ in 0..<2 {
            let answered = Once<IngestResult>()
            role.handle(
                IngestRequest(
                    method: "POST", path: "/in", pattern: "/in", body: [], receivedUnixMs: 1)
            ) { answered.set($0) }
            let result = await answered.value()
            #expect(result?.events.isEmpty == true)
        }
        #expect(services.faults.contains("test: \(said)"))
        #expect(Set(services.faults).count <= 2)
        #expect(await instance.stop(deadlineMs: 5_000))
    }

    @Test func `a role that is listed and not there is named`() async throws {
        let instance = try await instance("")
        #expect(BuildRole(instance) == nil)
        #expect(
            services.faults == ["test: lists the role sbx.role.build/1 and has no table for it"])
        #expect(await instance.stop(deadlineMs: 5_000))
    }

    @Test func `who does not stop in time is left behind`() async throws {
        let instance = try await instance("slow-stop")
        #expect(await instance.stop(deadlineMs: 10) == false)
        #expect(services.faults == ["test: did not stop in time and was abandoned"])
    }

    @Test(arguments: [
        ("-DCRASH_IN_ENTRY", "crashes while it is loaded (signal 6"),
        ("-DEXIT_IN_ENTRY", "ends the process while it is loaded (exit 0)"),
    ])
    func `a crash in the entry is found out in a process of its own`(
        flag: String, words: String
    ) async throws {
        let library = try await Self.compile("misbehaving", [flag])
        let program = URL(filePath: try PluginRig.bundled("Zendesk")).deletingLastPathComponent()
            .appending(path: "signalbox").path
        let found = PluginInspector.inspect(library, command: [program, "plugins", "describe"])
        guard case .failure(let fault) = found else {
            throw PluginRig.Failure(description: "it was loaded")
        }
        #expect(fault.code == "plugin-crashes")
        #expect(fault.message.contains(words))
    }
}
