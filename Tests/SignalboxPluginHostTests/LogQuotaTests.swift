import PluginRig
import SignalboxCore
import SignalboxJSON
import Synchronization
import Testing

@testable import SignalboxPluginHost

/// A plugin that logs without end fills no disk, and displaces no line of others.
@Suite struct LogQuotaTests {
    @Test func `an interval has room for so many lines, and the next one says how many had none`() {
        let quota = LogQuota()
        let told = Mutex<[String]>([])
        func admitted(_ count: Int, nowMs: UInt64) -> Int {
            (0..<count).count { _ in
                quota.admits(nowMs: nowMs) { line in told.withLock { $0.append(line) } }
            }
        }
        #expect(admitted(LogQuota.linesMax, nowMs: 5) == LogQuota.linesMax)
        #expect(told.withLock { $0 } == [])
        #expect(admitted(7, nowMs: 4 + LineQuota.intervalMs) == 0)
        #expect(told.withLock { $0 } == [LogQuota.fullWords])
        #expect(admitted(1, nowMs: 5 + LineQuota.intervalMs) == 1)
        #expect(told.withLock { $0 } == [LogQuota.fullWords, "(7 more lines were left out)"])
    }

    @Test(arguments: [false, true])
    func `what a plugin logs is bounded, in any process`(isIsolated: Bool) async throws {
        let services = RigServices()
        let library = try await IsolatedRoleTests.library.value
        let config: JSONValue = ["create": "talk"]
        let instance: any HostedInstance =
            isIsolated
            ? try await PluginRig.isolated(library, config: config, services: services)
            : try await PluginRig.instance(of: library, config: config, services: services)
        await services.waitFor { services.lines.contains { $0.contains(LogQuota.fullWords) } }
        #expect(services.lines.count { $0.contains("talking") } == LogQuota.linesMax)
        #expect(services.lines.count { $0.contains(LogQuota.fullWords) } == 1)
        #expect(await instance.stop(deadlineMs: 5_000))
    }
}
