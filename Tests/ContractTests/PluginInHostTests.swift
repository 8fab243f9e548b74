import Foundation
import PluginRig
import SignalboxCore
import SignalboxJSON
import SignalboxPluginHost
import Testing

/// Plugins compiled against other headers, in the current host.
@Suite struct PluginInHostTests {
    @Test(arguments: Edition.all)
    func `a plugin of another minor runs as its neighbours do`(edition: Edition) async throws {
        let transcript = try await Flow.contract.run(library: edition.plugin())
        #expect(transcript.flow == (try Flow.expected()))
        let reach = try #require(transcript.pluginReach)
        #expect(reach.wrong == 0)
        if edition == .current {
            // SwiftPM does not notice changes in headers that Swift imports.
            #expect(
                reach.other == 0,
                "this host was compiled with other headers than those of include/: build it anew")
        }
        if edition.isNext {
            // Everywhere it looked for what a newer host would provide, and did without.
            #expect(reach.with == 0 && reach.without > 40, "\(reach)")
        }
    }

    @Test(arguments: Edition.all)
    func `a window of an event is taken from who knows of it`(edition: Edition) async throws {
        let services = RigServices(nowUnixMs: Flow.nowUnixMs)
        let flow = Flow.contract
        let instance = try await PluginRig.instance(
            of: edition.plugin(), config: try JSONValue.parse(flow.config),
            secrets: ["key": [1]], services: services)
        let role = try #require(try await IngestRole(instance, limits: Limits()))
        let once = Once<IngestResult>()
        role.handle(
            IngestRequest(
                method: "POST", path: flow.path, pattern: flow.pattern, body: [],
                receivedUnixMs: Flow.nowUnixMs)
        ) { once.set($0) }
        let windows = await once.value()?.events.map(\.dedupeWindowMs)
        #expect(windows == (edition == .release("1.0") ? [0, 0] : [7_000, 0]))
        #expect(await instance.stop(deadlineMs: 5_000) && services.faults.isEmpty)
    }

    @Test func `its descriptor says what it was made for`() async throws {
        for edition in Edition.all {
            let descriptor = try PluginLibrary.load(await edition.plugin()).descriptor
            let version = try await edition.headers().version()
            #expect(descriptor.abi == version)
        }
    }

    @Test func `one that needs a newer minor is refused with words`() async throws {
        let minor = try await Headers.next.value.minor()
        let library = try await Edition.next.plugin("-DNEEDS_MINOR=\(minor)")
        let fault = #expect(throws: LoadFault.self) { try PluginLibrary.load(library) }
        let known = try #require(fault)
        #expect(known.code == "plugin-needs-newer-host")
        #expect(known.message.contains("needs contract 1.\(minor)"), "\(known.message)")
        #expect(known.message.contains("this host has 1.\(minor - 1)"), "\(known.message)")
        #expect(known.message.contains("update signalbox"), "\(known.message)")
    }
}
