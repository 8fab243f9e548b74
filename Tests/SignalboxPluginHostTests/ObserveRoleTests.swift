import Foundation
import PluginRig
import SignalboxCore
import SignalboxJSON
import Synchronization
import Testing

@testable import SignalboxPluginHost

/// The observe role: the project that `plugins new` writes, in this process and in its own.
@Suite struct ObserveRoleTests {
    private static let library = Task.detached {
        let folder = try Workshop.folder()
        return try await PluginRig.compile(
            file: PluginRig.root.appending(path: "Examples/templates/c/observe/plugin.c").path,
            to: folder.appending(path: "libplugin.so").path)
    }

    /// What a batch was answered.
    private final class Answers: Sendable {
        private let verdicts = Mutex<[ObserveVerdict]>([])
        var all: [ObserveVerdict] { verdicts.withLock { $0 } }
        func add(_ verdict: ObserveVerdict) { verdicts.withLock { $0.append(verdict) } }
    }

    private static func instance(
        _ library: String, _ isIsolated: Bool, file: String, _ services: RigServices
    ) async throws -> any HostedInstance {
        let config = try JSONValue.parse(#"{"file":"\#(file)"}"#)
        return isIsolated
            ? try await PluginRig.isolated(library, config: config, services: services)
            : try await PluginRig.instance(of: library, config: config, services: services)
    }

    private static func batch(_ sequences: ClosedRange<UInt64>) -> [Observation] {
        sequences.map { Observation(sequence: $0, json: Array(#"{"sequence":\#($0)}"#.utf8)) }
    }

    @Test(arguments: [false, true])
    func `a batch is handed over in its order, and answered once`(isIsolated: Bool) async throws {
        let services = RigServices()
        let file = try Workshop.folder().appending(path: "lines").path
        let instance = try await Self.instance(
            try await Self.library.value, isIsolated, file: file, services)
        let role = try #require(try await instance.roles(limits: Limits()).observe)
        let answers = Answers()
        role.observe(Self.batch(1...3)) { answers.add($0) }
        await services.waitFor { answers.all.count == 1 }
        role.observe(Self.batch(7...7)) { answers.add($0) }
        await services.waitFor { answers.all.count == 2 }
        #expect(answers.all == [.taken, .taken])
        let lines = try String(contentsOfFile: file, encoding: .utf8).split(separator: "\n")
        #expect(lines == [1, 2, 3, 7].map { #"{"sequence":\#($0)}"# })
        #expect(await instance.stop(deadlineMs: 5_000))
        #expect(services.faults == [])
    }

    @Test(arguments: [false, true])
    func `what cannot be written comes again`(isIsolated: Bool) async throws {
        let services = RigServices()
        let instance = try await Self.instance(
            try await Self.library.value, isIsolated, file: "/dev/full", services)
        let role = try #require(try await instance.roles(limits: Limits()).observe)
        let answers = Answers()
        // One batch at a time, as the gateway does.
        for count in 1...2 {
            role.observe(Self.batch(1...3)) { answers.add($0) }
            await services.waitFor { answers.all.count == count }
        }
        #expect(answers.all == Array(repeating: .later(afterMs: 0, reason: "again"), count: 2))
        #expect(await instance.stop(deadlineMs: 5_000))
    }

    @Test func `a batch without an answer comes again after a minute, and counts`() async throws {
        let services = RigServices(nowUnixMs: 1_700_000_000_000)
        services.isVirtual = true
        let source = RoleTests.plugin(
            role: "SBX_ROLE_OBSERVE",
            table: "static const sbx_observe the_role = {sizeof the_role, 0, observe};",
            functions: """
                static sbx_status observe(sbx_instance *i, const sbx_observation *o, size_t n, size_t s, sbx_error *e) {
                  (void)i; (void)o; (void)n; (void)s; (void)e; return SBX_OK;
                }
                """)
        let instance = try await PluginRig.instance(
            of: try await PluginRig.compile(source), services: services)
        let role = try #require(ObserveRole(instance))
        let answers = Answers()
        role.observe(Self.batch(1...3)) { answers.add($0) }
        services.advance(ms: 59_000)
        #expect(answers.all.isEmpty)
        services.advance(ms: 1_000)
        await services.waitFor { answers.all.count == 1 }
        #expect(answers.all == [.later(afterMs: 0, reason: "timeout")])
        #expect(services.faults.contains { $0.contains("did not answer a batch of outcomes") })
        #expect(await instance.stop(deadlineMs: 5_000))
    }
}
