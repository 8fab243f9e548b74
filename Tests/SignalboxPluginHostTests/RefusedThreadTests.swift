import Glibc
import SignalboxThreads
import Testing

@testable import SignalboxPluginHost

/// A system that has no thread left.
@Suite struct RefusedThreadTests {
    @Test func `an instance that gets no thread is a fault of that instance`() async {
        await #expect(processExitsWith: .success) {
            try NoThreads.during {
                #expect(!SystemThread.isStarted("sbx-test") {})
                #expect(throws: PluginFault.self) { _ = try ControlThread(tick: {}) }
            }
            #expect(SystemThread.isStarted("sbx-test") {})
        }
    }

    @Test func `a process whose messages no thread could read does not stay`() async {
        await #expect(processExitsWith: .success) {
            try NoThreads.during {
                #expect(throws: PluginFault.self) {
                    _ = try IsolatedChild(
                        command: ["/bin/sleep", "600"], plan: ConfinementPlan(), log: { _ in },
                        handle: { _, _, _ in }, onGone: { _ in }, onEnd: { _, _ in })
                }
            }
            // This process has no other child.
            #expect(waitpid(-1, nil, WNOHANG) == -1 && errno == ECHILD)
        }
    }
}

/// Makes the system refuse all new threads of this process, by a stack that no memory has room for.
private enum NoThreads {
    private typealias Attributes = @convention(c) (UnsafeMutablePointer<pthread_attr_t>) -> Int32

    static func during(_ body: () throws -> Void) throws {
        // glibc has them, and Swift's module for it does not.
        let set = unsafeBitCast(
            try #require(dlsym(nil, "pthread_setattr_default_np")), to: Attributes.self)
        let get = unsafeBitCast(
            try #require(dlsym(nil, "pthread_getattr_default_np")), to: Attributes.self)
        var before = pthread_attr_t()
        try #require(get(&before) == 0)
        var huge = before
        try #require(pthread_attr_setstacksize(&huge, 1 << 50) == 0 && set(&huge) == 0)
        defer { _ = set(&before) }
        try body()
    }
}
