import Foundation
import PluginRig
import SignalboxCore
import SignalboxJSON
import Synchronization
import Testing

@testable import SignalboxPluginHost

/// The source role: a plugin in C that emits the lines of a file, in this process and in its own.
@Suite struct SourceRoleTests {
    private static let library = Task.detached {
        try await PluginRig.compileFixture("Source/spool.c")
    }

    /// The batches that came, which a test decides.
    private final class Inbox: Sendable {
        private let batches = Mutex<[SourceBatch]>([])
        private let isOpen = Atomic<Bool>(true)

        var all: [SourceBatch] { batches.withLock { $0 } }
        var tokens: [[String]] {
            all.map { batch in batch.events.map { $0.recipients[0].device.token } }
        }
        func refuse() { isOpen.store(false, ordering: .relaxed) }
        func take(_ batch: SourceBatch) -> Bool {
            guard isOpen.load(ordering: .relaxed) else { return false }
            batches.withLock { $0.append(batch) }
            return true
        }
        func takeAll() -> [SourceBatch] {
            batches.withLock { batches in
                defer { batches = [] }
                return batches
            }
        }
    }

    /// The fault that the source reported, or nil while events come in.
    private final class Conditions: Sendable {
        private let said = Mutex<[String?]>([])

        var all: [String?] { said.withLock { $0 } }
        func add(_ words: String?) { said.withLock { $0.append(words) } }
    }

    private struct Spool {
        let instance: any HostedInstance
        let role: any Sourcing
        let services = RigServices()
        let folder: URL
        let inbox = Inbox()
        let conditions = Conditions()

        init(_ isIsolated: Bool, lines: Int, more: String = "") async throws {
            folder = try Workshop.folder()
            let library = try await SourceRoleTests.library.value
            let file = folder.appending(path: "lines")
            try (1...lines).map { "t\($0)\n" }.joined().write(
                to: file, atomically: true, encoding: .utf8)
            let config = try JSONValue.parse(
                #"{"file":"\#(file.path)","acks":"\#(file.path).acks"\#(more)}"#)
            instance =
                isIsolated
                ? try await PluginRig.isolated(library, config: config, services: services) {
                    $0.waitFirstMs = 1
                }
                : try await PluginRig.instance(of: library, config: config, services: services)
            role = try #require(try await instance.roles(limits: Limits()).source)
        }

        var acks: Int {
            let file = folder.appending(path: "lines.acks").path
            return (try? String(contentsOfFile: file, encoding: .utf8))?.count { $0 == "\n" } ?? 0
        }

        func resume(_ batchesMax: Int = 4) async throws {
            let inbox = inbox
            let heard = conditions
            try await role.resume(
                batchesMax: batchesMax, take: { inbox.take($0) },
                onCondition: { heard.add($0?.message) })
        }
    }

    @Test(arguments: [false, true])
    func `no more batches than allowed are undecided, and each is decided once`(
        isIsolated: Bool
    ) async throws {
        let spool = try await Spool(isIsolated, lines: 30)
        try await spool.resume(4)
        await spool.services.waitFor { spool.inbox.all.count == 4 }
        // It continues as soon as one is decided.
        let first = spool.inbox.takeAll()
        #expect(first.map(\.events.count) == [3, 3, 3, 3])
        for batch in first { batch.done(.stored(count: 3, repeated: 0)) }
        await spool.services.waitFor { spool.inbox.all.count == 4 }
        #expect(spool.inbox.all.count == 4)
        for batch in spool.inbox.takeAll() { batch.done(.stored(count: 2, repeated: 1)) }
        await spool.services.waitFor { spool.inbox.all.count == 2 }
        for batch in spool.inbox.takeAll() { batch.done(.stored(count: 3, repeated: 0)) }
        await spool.services.waitFor { spool.acks == 30 }
        #expect(spool.acks == 30)
        try await spool.role.pause()
        #expect(await spool.instance.stop(deadlineMs: 5_000))
        #expect(spool.services.faults == [])
    }

    @Test(arguments: [false, true])
    func `a batch that could not be stored comes again`(isIsolated: Bool) async throws {
        let spool = try await Spool(isIsolated, lines: 3)
        try await spool.resume()
        await spool.services.waitFor { spool.inbox.all.count == 1 }
        spool.inbox.takeAll()[0].done(.again(afterMs: 5))
        await spool.services.waitFor { spool.inbox.all.count == 1 }
        #expect(spool.inbox.tokens == [["t1", "t2", "t3"]])
        #expect(spool.acks == 0)
        spool.inbox.takeAll()[0].done(.stored(count: 3, repeated: 0))
        await spool.services.waitFor { spool.acks == 3 }
        try await spool.role.pause()
        #expect(await spool.instance.stop(deadlineMs: 5_000))
    }

    @Test(arguments: [false, true])
    func `a stop waits for what is undecided, and tells the plugin`(isIsolated: Bool) async throws {
        let spool = try await Spool(isIsolated, lines: 3)
        try await spool.resume()
        await spool.services.waitFor { spool.inbox.all.count == 1 }
        try await spool.role.pause()
        async let isStopped = spool.instance.stop(deadlineMs: 20_000)
        spool.inbox.takeAll()[0].done(.stored(count: 3, repeated: 0))
        #expect(await isStopped)
        #expect(spool.acks == 3)
        #expect(spool.services.faults == [])
    }

    @Test(arguments: [false, true])
    func `it says why nothing comes in, and when that is over`(isIsolated: Bool) async throws {
        let spool = try await Spool(isIsolated, lines: 3)
        try await spool.resume()
        let (file, aside) = (
            spool.folder.appending(path: "lines"), spool.folder.appending(path: "x")
        )
        try FileManager.default.moveItem(at: file, to: aside)
        await spool.services.waitFor { spool.conditions.all == ["the file is gone"] }
        try FileManager.default.moveItem(at: aside, to: file)
        await spool.services.waitFor { spool.conditions.all == ["the file is gone", nil] }
        #expect(spool.conditions.all == ["the file is gone", nil])
        for batch in spool.inbox.takeAll() { batch.done(.stored(count: 3, repeated: 0)) }
        try await spool.role.pause()
        #expect(await spool.instance.stop(deadlineMs: 5_000))
        #expect(spool.services.faults == [])
    }

    @Test(arguments: [false, true])
    func `a malformed batch is refused as a whole, and the log says why`(
        isIsolated: Bool
    ) async throws {
        let spool = try await Spool(isIsolated, lines: 3, more: #","bad":1"#)
        try await spool.resume()
        await spool.services.waitFor { !spool.services.lines.isEmpty }
        #expect(spool.services.lines.contains { $0.contains("event 1 has no type") })
        #expect(spool.inbox.all.isEmpty)
        try await spool.role.pause()
        #expect(await spool.instance.stop(deadlineMs: 5_000))
    }

    @Test(arguments: [false, true])
    func `a source that cannot resume says why, and can be asked again`(
        isIsolated: Bool
    ) async throws {
        let spool = try await Spool(isIsolated, lines: 3, more: #","refuse_once":1"#)
        let fault = await #expect(throws: PluginFault.self) { try await spool.resume() }
        #expect(fault?.kind == .unreachable && fault?.message == "the bus is away")
        try await spool.resume()
        await spool.services.waitFor { spool.inbox.all.count == 1 }
        for batch in spool.inbox.takeAll() { batch.done(.stored(count: 3, repeated: 0)) }
        try await spool.role.pause()
        #expect(await spool.instance.stop(deadlineMs: 5_000))
    }

    @Test(arguments: [false, true])
    func `a gateway without room loses nothing`(isIsolated: Bool) async throws {
        let spool = try await Spool(isIsolated, lines: 3)
        let tries = Atomic<Int>(0)
        let take: @Sendable (SourceBatch) -> Bool = { batch in
            guard tries.wrappingAdd(1, ordering: .relaxed).newValue > 3 else { return false }
            return spool.inbox.take(batch)
        }
        try await spool.role.resume(batchesMax: 2, take: take) { _ in }
        await spool.services.waitFor { spool.inbox.all.count == 1 }
        #expect(spool.inbox.tokens == [["t1", "t2", "t3"]])
        for batch in spool.inbox.takeAll() { batch.done(.stored(count: 3, repeated: 0)) }
        try await spool.role.pause()
        #expect(await spool.instance.stop(deadlineMs: 5_000))
    }

    @Test func `a batch may be emitted from inside settled, and JSON wants a scope`() async throws {
        let services = RigServices()
        // One batch at a time: each settled() emits the next one.
        let source = RoleTests.plugin(
            role: "SBX_ROLE_SOURCE",
            table: """
                static const sbx_source the_role = {sizeof the_role, 0, resume_, pause_, settled};
                """,
            functions: """
                #include <pthread.h>
                #include <stdio.h>
                static void emit(sbx_instance *i, uint64_t token, sbx_str type) {
                  const sbx_source_host *to = i->host->service(i->host, SBX_SVC_SOURCE_HOST);
                  sbx_event e = {.struct_size = sizeof e, .type = type};
                  if (to->emit(i->host, token, &e, 1, sizeof e) != SBX_OK) abort();
                }
                static void *first(void *p) {
                  sbx_instance *i = p;
                  const sbx_json *json = i->host->service(i->host, SBX_SVC_JSON);
                  sbx_json_value root;
                  sbx_error error = {.struct_size = sizeof error};
                  json->parse(i->host, STR("{}"), &root, &error);
                  emit(i, 1, (sbx_str){error.message, strlen(error.message)});
                  return NULL;
                }
                static sbx_status resume_(sbx_instance *i, uint32_t most, sbx_error *error) {
                  (void)most; (void)error;
                  pthread_t thread;
                  pthread_create(&thread, NULL, first, i);
                  pthread_join(thread, NULL);
                  return SBX_OK;
                }
                static sbx_status pause_(sbx_instance *i, sbx_error *error) { (void)i; (void)error; return SBX_OK; }
                static void settled(sbx_instance *i, const sbx_batch_result *r, size_t n, size_t s) {
                  (void)n; (void)s;
                  if (r->token < 50) emit(i, r->token + 1, STR("next"));
                }
                """)
        let instance = try await PluginRig.instance(
            of: try await PluginRig.compile(source), services: services)
        let role = try #require(SourceRole(instance, limits: Limits()))
        let types = Mutex<[String]>([])
        let take: @Sendable (SourceBatch) -> Bool = { batch in
            types.withLock { $0 += batch.events.map(\.type) }
            services.onWorker { batch.done(.stored(count: 1, repeated: 0)) }
            return true
        }
        try await role.resume(batchesMax: 1, take: take) { _ in }
        await services.waitFor { types.withLock { $0.count } == 50 }
        #expect(types.withLock { $0.count } == 50)
        #expect(types.withLock { $0.first }?.contains("use sbx.scope/1") == true)
        try await role.pause()
        #expect(await instance.stop(deadlineMs: 5_000))
        #expect(services.faults == [])
    }

    @Test func `a process that ends is resumed, and emits what it was not told of`() async throws {
        let spool = try await Spool(true, lines: 3)
        try await spool.resume()
        await spool.services.waitFor { spool.inbox.all.count == 1 }
        let isolated = try #require(spool.instance as? IsolatedInstance)
        let child = try #require(isolated.state.update { $0.child })
        child.kill(because: "the test wants it")
        await spool.services.waitFor { spool.inbox.all.count == 2 }
        #expect(spool.inbox.tokens == [["t1", "t2", "t3"], ["t1", "t2", "t3"]])
        // The first one's process is gone: nobody is told, and nothing breaks.
        for batch in spool.inbox.takeAll() { batch.done(.stored(count: 3, repeated: 0)) }
        await spool.services.waitFor { spool.acks == 3 }
        #expect(spool.acks == 3)
        try await spool.role.pause()
        #expect(await spool.instance.stop(deadlineMs: 5_000))
    }
}
