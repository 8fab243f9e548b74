import SignalboxCore
import SignalboxThreads
import Synchronization
import Testing

@testable import SignalboxPostgres

/// The thread of a connection, without a database.
@Suite struct ConnectionThreadTests {
    /// A thread that gives itself the next job whenever it does one.
    private final class Busy: Sendable {
        private let thread = Mutex<ConnectionThread<Int>?>(nil)

        func set(_ new: ConnectionThread<Int>) { thread.withLock { $0 = new } }

        func again() { _ = thread.withLock { $0 }?.submit(1) }
    }

    @Test func `what is due now and then is done under steady work, too`() async throws {
        let session = Session(
            try PostgresAddress("postgres://u@127.0.0.1:1/d"), usesNames: true,
            Life(owner: "one", number: 1), channel: 0, DatabaseClock(offsetMs: { 0 }))
        let busy = Busy()
        let (rests, tell) = AsyncStream.makeStream(of: Void.self)
        let thread = ConnectionThread<Int>(
            "desk", Lent(session),
            ConnectionThread.Duties(
                restNs: { 1_000_000 },
                perform: { jobs, _ in
                    if jobs.isEmpty { tell.yield() } else { busy.again() }
                    return nil
                }, refuse: { _, _ in }))
        busy.set(thread)
        #expect(thread.submit(1) == nil)
        var seen = rests.makeAsyncIterator()
        for _ in 0..<3 { _ = await seen.next() }
        await thread.close()
    }
}
