import Foundation
import Logging
import PluginRig
import Synchronization
import Testing

@testable import Signalbox
@testable import SignalboxGateway

/// What a service manager hears, on a socket of the test's own.
@Suite struct SupervisorTests {
    private static let quiet = Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }

    @Test(arguments: [false, true])
    func `it is told on a socket with a path or an abstract name`(isAbstract: Bool) async throws {
        let socket = try NotifySocket(isAbstract: isAbstract)
        let supervisor = try #require(try Supervisor(["NOTIFY_SOCKET": socket.name]))
        #expect(supervisor.patienceMs == nil)
        supervisor.isReady("one line\nof status")
        #expect(try await socket.next() == ["READY=1", "STATUS=one line of status"])
        supervisor.isReloading()
        let reloading = try await socket.next()
        #expect(reloading.first == "RELOADING=1")
        #expect(reloading.contains { $0.firstMatch(of: /^MONOTONIC_USEC=\d+$/) != nil })
        supervisor.isStopping(withinMs: 1_500)
        #expect(
            try await socket.next().prefix(2) == ["STOPPING=1", "EXTEND_TIMEOUT_USEC=1500000"])
    }

    @Test func `without a socket there is nobody to tell, and an unusable one is named`() throws {
        #expect(try Supervisor([:]) == nil)
        #expect(try Supervisor(["NOTIFY_SOCKET": "", "WATCHDOG_USEC": "5"]) == nil)
        for name in ["vsock:2:1234", "relative", "/" + String(repeating: "a", count: 107)] {
            #expect {
                _ = try Supervisor(["NOTIFY_SOCKET": name])
            } throws: {
                "\($0)".hasPrefix("NOTIFY_SOCKET: \(name) is neither an absolute path nor @NAME")
            }
        }
        // A socket that is gone holds nothing up.
        try Supervisor(["NOTIFY_SOCKET": "/nowhere"])?.isReady("")
    }

    @Test func `a watchdog of another process is not fed`() throws {
        let variables = ["NOTIFY_SOCKET": "/nowhere", "WATCHDOG_USEC": "30000000"]
        #expect(try Supervisor(variables)?.patienceMs == 30_000)
        let theirs = variables.merging(["WATCHDOG_PID": "8"]) { $1 }
        #expect(try Supervisor(theirs, process: 7)?.patienceMs == nil)
        #expect(try Supervisor(theirs, process: 8)?.patienceMs == 30_000)
    }

    @Test func `the watchdog is fed once all threads answer, and not while one hangs`()
        async throws
    {
        let socket = try NotifySocket()
        let supervisor = try Supervisor(["NOTIFY_SOCKET": socket.name, "WATCHDOG_USEC": "30000"])
        let held = Mutex<[@Sendable () -> Void]?>([])
        let watchdog = try #require(
            Watchdog(
                supervisor, Self.quiet,
                [
                    .init(name: "good") { done in Task { done() } },
                    .init(name: "bad") { done in
                        if held.withLock({ $0?.append(done) }) == nil { Task { done() } }
                    },
                ]))
        // On a busy machine the other one may be late, too.
        #expect(try await socket.next().first?.hasPrefix("STATUS=Threads hang: bad") == true)
        for done in held.withLock({ held in
            defer { held = nil }; return held ?? []
        }) { done() }
        #expect(try await socket.next() == ["WATCHDOG=1"])
        #expect(try await socket.next() == ["STATUS=Running"])
        _ = try await socket.messages(to: "WATCHDOG=1")
        _ = try await socket.messages(to: "WATCHDOG=1")
        watchdog.stop()
    }
}
