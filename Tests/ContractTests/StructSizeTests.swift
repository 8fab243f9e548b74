import Foundation
import PluginRig
import SignalboxCore
import SignalboxJSON
import SignalboxPluginHost
import Synchronization
import Testing

/// A plugin whose structs have sizes and strides that no contract has, and the host's reaction.
@Suite struct StructSizeTests {
    private static func compile(_ flags: [String] = []) async throws -> String {
        let source = PluginRig.root.appending(
            path: "Tests/ContractTests/Plugins/Misbehaving/structs.c")
        return try await PluginRig.compile(
            file: source.path, to: Workshop.folder("structs").appending(path: "libs.so").path,
            flags: flags)
    }

    private static let library = Task.detached { try await compile() }

    /// A struct, the calls that take it, and the log lines of those that reject it.
    struct Given: Sendable, CustomTestStringConvertible {
        var name: String
        var calls: [String]
        var refused: [String] = []
        /// Whether it is passed in arrays.
        var hasStride = false

        private static let oldest = Releases.versions.first.flatMap { try? Releases.layout($0) }
        private static let current = try? Releases.layout(Headers.current.version())

        /// The size in the current contract.
        var size: Int { Self.current?.structs[name]?.size ?? 0 }
        /// The size in the oldest contract, if it has grown since.
        var first: Int? {
            Self.oldest?.structs[name].flatMap { $0.size == size ? nil : $0.size }
        }
        var testDescription: String { name }
        /// The valid sizes, for messages.
        var sizes: String { first.map { "\($0) to \(size)" } ?? "\(size)" }
        /// A size that is too small or too large.
        func wrong(_ change: Int) -> Int {
            change == 0 ? 0 : change < 0 ? (first ?? size) + change : size + change
        }
    }

    /// The minor of include/.
    private static func minor() throws -> Int { try Headers.current.minor() }

    static let all = [
        Given(name: "sbx_ingest_path", calls: ["paths()"], hasStride: true),
        Given(
            name: "sbx_event", calls: ["emit()"], refused: ["emit"],
            hasStride: true),
        Given(
            name: "sbx_recipient", calls: ["emit()"], refused: ["emit"],
            hasStride: true),
        Given(
            name: "sbx_device",
            calls: ["emit()", "change()", "change() of sbx.registry/1"],
            refused: ["emit", "change", "registry"]),
        Given(
            name: "sbx_change", calls: ["change()", "change() of sbx.registry/1"],
            refused: ["change", "registry"]),
        Given(
            name: "sbx_http_call", calls: ["submit() of sbx.http/1"],
            refused: ["submit"]),
        Given(name: "sbx_error", calls: ["sign() of sbx.sign/1", "finish()"]),
        Given(name: "sbx_notification", calls: ["emit()"], refused: ["build"]),
        Given(
            name: "sbx_target", calls: ["emit()"], refused: ["build"], hasStride: true),
        Given(name: "sbx_endpoint", calls: ["endpoint()"]),
        Given(
            name: "sbx_http_request", calls: ["request()"],
            refused: ["request"], hasStride: true),
        Given(
            name: "sbx_outcome", calls: ["settle()", "complete()"],
            refused: ["settle"], hasStride: true),
    ]

    private func instance(
        _ given: Given, _ key: String, _ value: Int, _ services: RigServices,
        isIsolated: Bool = false
    ) async throws -> any HostedInstance {
        let library = try await Self.library.value
        let config = JSONValue.object([
            .init("struct", .string(given.name)), .init(key, .integer(Int64(value))),
        ])
        guard isIsolated else {
            return try await PluginRig.instance(of: library, config: config, services: services)
        }
        return try await PluginRig.isolated(library, config: config, services: services)
    }

    /// Passes everything through the plugin. Returns what it settled.
    private func run(
        _ instance: any HostedInstance, _ given: Given, _ services: RigServices
    ) async throws -> (settled: [Outcome], completed: [Outcome]) {
        if given.name == "sbx_ingest_path" {
            let fault = await #expect(throws: PluginFault.self) {
                try await instance.roles(limits: Limits())
            }
            #expect(fault?.kind == .invalid && fault?.message.contains(given.name) == true)
            return ([], [])
        }
        let roles = try await instance.roles(limits: Limits())
        let ingest = try #require(roles.ingest)
        var results: [IngestResult] = []
        for body in ["", "finish"] {
            let once = Once<IngestResult>()
            ingest.handle(
                IngestRequest(
                    method: "POST", path: "/in", pattern: "/in", body: Array(body.utf8),
                    receivedUnixMs: 1)
            ) { once.set($0) }
            results.append(try #require(await once.value()))
        }
        #expect(results[0].events.count == (given.refused.contains("emit") ? 0 : 1))
        #expect(results[0].changes.count == (given.refused.contains("change") ? 0 : 1))
        #expect(results[1].fault?.kind == .auth)
        let built = try roles.build?.build(
            Event(type: "a.b"), recipients: [Recipient(device: Device(token: "t"))], route: "r",
            options: "{}"
        ).get()
        #expect(built?.contents.count == (given.refused.contains("build") ? 0 : 1))
        let sender = try #require(roles.sendHTTP)
        if given.name == "sbx_endpoint" {
            await #expect(throws: PluginFault.self) { try await sender.endpoint(app: "") }
        } else {
            #expect(try await sender.endpoint(app: "").origin == "https://h")
        }
        let content = SharedNotification(PushNotification(), receivedUnixMs: 0)
        let deliveries = (1...3).map {
            Delivery(
                id: $0, eventID: 1, route: "r", sender: "s", stableID: "id", deadlineUnixMs: 0,
                content: content, device: Device(token: "t"))
        }
        guard case .ready(let batch, let settled) = sender.prepare(app: "", deliveries: deliveries)
        else { throw PluginRig.Failure(description: "not ready") }
        #expect(Set(batch.items).union(settled.map(\.item)) == [1, 2, 3])
        let inbox = Inbox()
        #expect(
            try roles.send?.submit(app: "", deliveries: deliveries) { inbox.add($0) }.get() == 3)
        // Whatever was not settled at once is settled when its time is up.
        if services.isVirtual { services.advance(ms: 60_000) }
        await services.waitFor { inbox.all.count == 3 }
        #expect(inbox.all.map(\.item) == [1, 2, 3])
        return (settled, inbox.all)
    }

    private func virtual() -> RigServices {
        let services = RigServices(nowUnixMs: 1_000_000)
        services.isVirtual = true
        return services
    }

    private func expectRefused(_ given: Given, _ lines: [String]) {
        let calls = ["submit", "registry", "sign", "emit", "change", "build", "request", "settle"]
        for call in calls where given.name != "sbx_ingest_path" {
            let status = given.refused.contains(call) ? -3 : call == "sign" ? -4 : 0
            #expect(lines.contains("test info \(call) \(status)"), "\(call): \(lines)")
        }
    }

    @Test(arguments: all, [0, -8, 8])
    func `a struct of a wrong size is refused, named and counted`(
        given: Given, change: Int
    ) async throws {
        let services = virtual()
        let size = given.wrong(change)
        let instance = try await instance(given, "size", size, services)
        let (settled, completed) = try await run(instance, given, services)
        expectRefused(given, services.lines)
        let wanted =
            given.name == "sbx_endpoint"
            ? "the host had set it to \(given.size): fill the fields, and leave it"
            : "contract 1.\(try Self.minor()) wants \(given.sizes): sizeof(\(given.name))"
        let said = given.calls.map {
            "test: set struct_size of \(given.name) to \(size) in \($0); \(wanted)"
        }
        #expect(Set(services.faults.filter { !$0.contains("forgot") }) == Set(said))
        if given.name == "sbx_outcome" {
            #expect(settled.map(\.reason) == ["plugin_bad_struct", "plugin_bad_struct"])
            #expect(completed.allSatisfy { $0.reason == "plugin_bad_struct" && $0.kind == .retry })
            #expect(services.faults.contains("test: forgot 2 of 3 items"))
        }
        if given.name == "sbx_http_request" {
            #expect(settled.first { $0.item == 1 }?.reason == "plugin_bad_struct")
        }
        #expect(await instance.stop(deadlineMs: 5_000))
    }

    @Test(arguments: all.filter(\.hasStride), [0, -8, 2])
    func `a stride that does not hold its structs is refused, named and counted`(
        given: Given, change: Int
    ) async throws {
        let services = virtual()
        let stride = given.wrong(change)
        let instance = try await instance(given, "stride", stride, services)
        let (settled, completed) = try await run(instance, given, services)
        expectRefused(given, services.lines)
        let alignment = given.name == "sbx_target" ? 4 : 8
        let said = given.calls.map {
            "test: gave a stride of \(stride) for \(given.name) in \($0); it must be at least "
                + "\(given.first ?? given.size), a multiple of \(alignment)"
        }
        let faults = services.faults.filter { !$0.contains("forgot") && !$0.contains("left 3") }
        #expect(Set(faults) == Set(said))
        if given.name == "sbx_outcome" {
            #expect(settled.map(\.reason) == ["plugin_bad_struct", "plugin_bad_struct"])
            // An array that cannot be iterated names no delivery.
            let reasons = Set(completed.map(\.reason))
            #expect(reasons == [change == 2 ? "plugin_bad_struct" : "no_outcome"])
        }
        #expect(await instance.stop(deadlineMs: 5_000))
    }

    @Test(arguments: all)
    func `a plugin in a process of its own is held to the same sizes`(given: Given) async throws {
        let services = RigServices()
        let instance = try await instance(given, "size", 0, services, isIsolated: true)
        let (settled, completed) = try await run(instance, given, services)
        await services.waitFor { services.faults.contains { $0.contains(given.name) } }
        #expect(services.faults.contains { $0.contains("set struct_size of \(given.name) to 0") })
        if given.name == "sbx_outcome" {
            #expect(settled.map(\.reason) == ["plugin_bad_struct", "plugin_bad_struct"])
            #expect(completed.allSatisfy { $0.reason == "plugin_bad_struct" })
        }
        #expect(await instance.stop(deadlineMs: 5_000))
    }

    @Test(arguments: [8, 1_000])
    func `a role whose table has a wrong size is named and counts as missing`(
        size: Int
    ) async throws {
        let services = RigServices()
        let library = try await Self.compile(["-DTABLE(type)=\(size)"])
        let instance = try await PluginRig.instance(of: library, services: services)
        let roles = try await instance.roles(limits: Limits())
        #expect(roles.ingest == nil && roles.build == nil && roles.sendHTTP == nil)
        #expect(roles.send == nil && roles.register == nil)
        let minor = try Self.minor()
        let said = [
            ("ingest", "sbx_ingest", 24), ("build", "sbx_build", 24),
            ("send-http", "sbx_send_http", 32), ("send", "sbx_send", 16),
            ("register", "sbx_register", 40),
        ].map {
            "test: set struct_size of \($1) to \(size) in role(sbx.role.\($0)/1); "
                + "contract 1.\(minor) wants \($2): sizeof(\($1))"
        }
        #expect(services.faults == said)
        #expect(await instance.stop(deadlineMs: 5_000))
    }

    @Test(arguments: [0, 104, 120])
    func `a plugin whose descriptor has a wrong size is not loaded`(size: Int) async throws {
        let library = try await Self.compile(["-DDESCRIPTOR=\(size)"])
        let fault = #expect(throws: LoadFault.self) { try PluginLibrary.load(library) }
        #expect(fault?.code == "plugin-malformed")
        #expect(
            fault?.message
                == "\(library) set struct_size of sbx_plugin to \(size) in its entry; "
                + "contract 1.\(try Self.minor()) wants 112: sizeof(sbx_plugin)")
    }

    @Test func `a plugin of a later minor may give longer structs`() async throws {
        let next = try Self.minor() + 1
        let library = try await Self.compile(["-DMINOR=\(next)", "-DDESCRIPTOR=200"])
        #expect(try PluginLibrary.load(library).descriptor.abi == "1.\(next)")
        let short = try await Self.compile(["-DMINOR=\(next)", "-DDESCRIPTOR=104"])
        let fault = #expect(throws: LoadFault.self) { try PluginLibrary.load(short) }
        #expect(fault?.message.contains("contract 1.\(next) wants at least 112") == true)
    }

    @Test func `a stride that holds an event of 1.0 does not hold one of today`() async throws {
        let services = virtual()
        let given = try #require(Self.all.first { $0.name == "sbx_event" })
        let instance = try await instance(given, "stride", 104, services)
        _ = try await run(instance, given, services)
        expectRefused(given, services.lines)
        #expect(services.faults.contains { $0.contains("it must be at least 112") })
        #expect(await instance.stop(deadlineMs: 5_000))
    }

    @Test(arguments: Releases.versions)
    func `the host knows the sizes of each release`(version: String) throws {
        let layout = try Releases.layout(version)
        let minor = try #require(version.split(separator: ".").last.flatMap { UInt32($0) })
        /// Structs that came with a later minor.
        let since: [String: UInt32] = [
            "sbx_fit_request": 1, "sbx_crypto_key": 1, "sbx_source": 1, "sbx_observe": 1,
            "sbx_filter": 1, "sbx_filter_part": 1,
        ]
        for type in StructSizes.all where since[type.name] ?? 0 <= minor {
            #expect(layout.structs[type.name]?.size == type.size(minor: minor), "\(type.name)")
        }
    }
}

/// The plugin's outcomes, in the order of their items.
private final class Inbox: Sendable {
    private let outcomes = Mutex<[Outcome]>([])
    var all: [Outcome] { outcomes.withLock { $0.sorted { $0.item < $1.item } } }
    func add(_ more: [Outcome]) { outcomes.withLock { $0 += more } }
}
