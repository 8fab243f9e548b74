import Glibc
import SignalboxThreads
import Testing

@testable import SignalboxPluginHost

/// A gateway that has run out of threads goes on without what needs one more.
@Suite struct ThreadRefusalTests {
    /// Uses up the memory for stacks; returns what lets the threads end.
    private static func useUp() -> Gate<Bool> {
        var limit = rlimit()
        getrlimit(__rlimit_resource_t(RLIMIT_AS.rawValue), &limit)
        var words = [CChar](repeating: 0, count: 256)
        let file = fopen("/proc/self/statm", "r")
        let pages = file.flatMap { fgets(&words, 256, $0) }.map { strtol($0, nil, 10) } ?? 0
        if let file { fclose(file) }
        limit.rlim_cur = rlim_t(pages * 4_096 + (40 << 20))
        setrlimit(__rlimit_resource_t(RLIMIT_AS.rawValue), &limit)
        let isOver = Gate(false)
        while SystemThread.isStarted(
            "filler", { isOver.wait(until: { isOver in (isOver ? () : nil, nil) }) })
        {}
        return isOver
    }

    @Test func `an instance without a thread is a fault`() async {
        await #expect(processExitsWith: .success) {
            let isOver = Self.useUp()
            #expect(throws: PluginFault.self) { try ControlThread {} }
            isOver.updateAll { $0 = true }
        }
    }

    @Test func `a process without a thread that reads it is ended, and a fault`() async {
        await #expect(processExitsWith: .success) {
            let isOver = Self.useUp()
            let fault = #expect(throws: PluginFault.self) {
                try IsolatedChild(
                    command: ["/bin/sleep", "600"], plan: ConfinementPlan(), log: { _ in },
                    handle: { _, _, _ in }, onGone: { _ in }, onEnd: { _, _ in })
            }
            #expect(fault?.message == "the system refused a thread for its process")
            // It has been reaped.
            #expect(waitpid(-1, nil, WNOHANG) == -1)
            isOver.updateAll { $0 = true }
        }
    }
}
