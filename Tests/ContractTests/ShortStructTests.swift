import PluginBench
import SignalboxPluginHost
import Testing

/// The present host and structs that end before its own do: a plugin that is older than it.
@Suite struct ShortStructTests {
    @Test func `what a struct does not reach is not given`() async throws {
        let services = BenchServices(nowUnixMs: Flow.nowUnixMs)
        var flow = Flow.contract
        flow.path = "/p"
        let transcript = try await flow.run(library: Edition.current.short(), services: services)
        let lines = transcript.lines
        #expect(!lines.contains { $0.lowercased().contains("behind") }, "\(lines)")
        #expect(lines.contains("path /p "))
        // The event that ends before its time and its recipients has neither.
        let events = lines.filter { $0.hasPrefix("event ") }
        #expect(events.count == 2 && events.allSatisfy { $0.hasSuffix("time=1699999999000") })
        #expect(lines.filter { $0.hasPrefix("recipient ") }.count == 1)
        #expect(lines.contains { $0.hasPrefix("change kind=1 time=1699999999000 reason= ") })
        #expect(lines.contains { $0.hasPrefix("handle failed auth: ") })
        #expect(lines.contains("target 0 badge=0"))
        // A request that ends before its items is refused, and nothing of an outcome is made up.
        #expect(!lines.contains { $0.hasPrefix("request ") })
        #expect(
            lines.contains(
                "outcome item=100 kind=2 scope=0 reconnect=0 retry=0 gone=0 code=0 "
                    + "reason=short-request detail= provider= token= credential="))
        #expect(services.calls.map(\.timeoutMs) == [0])
        #expect(services.calls.map(\.redirectsMax) == [0])
    }
}
