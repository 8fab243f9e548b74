import Glibc
import SignalboxThreads
import Synchronization
import Testing

@Suite(.timeLimit(.minutes(1))) struct WorkerThreadsTests {
    /// Stands for an object that a job holds: an event, a batch.
    private final class Burden: Sendable {
        let count: CountOfBurdens
        init(_ count: CountOfBurdens) {
            self.count = count
            count.value.add(1, ordering: .relaxed)
        }
        deinit { count.value.subtract(1, ordering: .relaxed) }
    }

    private final class CountOfBurdens: Sendable {
        let value = Atomic(0)
    }

    @Test func `what a job held is let go while other jobs are waiting`() async {
        let threads = WorkerThreads(count: 1, waitingMax: 10)
        let count = CountOfBurdens()
        // Two chains of jobs that each submit their next one, so that one job is always waiting.
        let most: Int = await withCheckedContinuation { continuation in
            @Sendable func step(_ left: Int, most: Int, isFirst: Bool) {
                let now = max(most, count.value.load(ordering: .relaxed))
                guard left > 0 else {
                    if isFirst { continuation.resume(returning: now) }
                    return
                }
                let burden = Burden(count)
                threads.submitBounded {
                    withExtendedLifetime(burden) { step(left - 1, most: now, isFirst: isFirst) }
                }
            }
            threads.submitBounded { step(1_000, most: 0, isFirst: true) }
            threads.submitBounded { step(2_000, most: 0, isFirst: false) }
        }
        #expect(most <= 4)
        threads.stop()
    }

    @Test func `jobs run in order of arrival, and too many are refused`() async {
        let threads = WorkerThreads(count: 1, waitingMax: 3)
        let order = Mutex<[Int]>([])
        let isHeld = Gate(true)
        threads.submitBounded { isHeld.wait { $0 ? nil : () } }
        // The held job may or may not have left the queue.
        var taken = 0
        for number in 0..<10
        where threads.submit({ order.withLock { $0.append(number) } }) { taken += 1 }
        #expect(taken == 2 || taken == 3)
        isHeld.update { $0 = false }
        await withCheckedContinuation { continuation in
            threads.submitBounded { continuation.resume() }
        }
        #expect(order.withLock { $0 } == Array(0..<taken))
        threads.stop()
        #expect(!threads.submit {})
    }

    private static let kind = CallKind("ingest", "handle()")

    /// Workers that are watched.
    private static func watched(
        count: Int, onLong: @escaping @Sendable (LongCall) -> Void = { _ in }
    ) -> WorkerThreads {
        WorkerThreads(count: count, waitingMax: 10, watch: CallWatch(AlarmClock(), onLong: onLong))
    }

    /// Blocks in a call until the gate opens.
    private static func block(_ isHeld: Gate<Bool>, of owner: CallOwner) {
        WorkerThreads.watched(owner, kind) { isHeld.wait(for: { $0 ? nil : () }) }
    }

    @Test func `jobs run while all threads are in calls that block`() async {
        let threads = Self.watched(count: 2)
        let owner = CallOwner("stuck")
        let isHeld = Gate(true)
        let ended = Gate(0)
        for _ in 0..<6 {
            threads.submitBounded {
                Self.block(isHeld, of: owner)
                ended.update { $0 += 1 }
            }
        }
        await withCheckedContinuation { continuation in
            threads.submitBounded { continuation.resume() }
        }
        #expect(ended.update { $0 } == 0)
        isHeld.updateAll { $0 = false }
        await SystemThread.value { ended.wait { $0 == 6 ? () : nil } }
        #expect(owner.slowCount == 0)
        threads.stop()
    }

    @Test func `an owner with sixteen slow calls is full, and no other is`() async {
        let threads = Self.watched(count: 2)
        let (stuck, other) = (CallOwner("stuck"), CallOwner("other"))
        let isHeld = Gate(true)
        for _ in 0..<16 { threads.submitBounded { Self.block(isHeld, of: stuck) } }
        while stuck.slowCount < 16 { await Task.yield() }
        #expect(stuck.isFull)
        #expect(!other.isFull)
        isHeld.updateAll { $0 = false }
        while stuck.isFull { await Task.yield() }
        threads.stop()
    }

    @Test func `a call that takes over a second is told of while it does, once, as its owner's`()
        async
    {
        let told = Gate<[LongCall]>([])
        let threads = Self.watched(count: 1) { call in told.update { $0.append(call) } }
        let isHeld = Gate(true)
        let owner = CallOwner("stuck")
        threads.submitBounded {
            WorkerThreads.watched(owner, Self.kind) {
                // A call within it is a part of it.
                WorkerThreads.watched(CallOwner("inner"), CallKind("x", "y")) {
                    isHeld.wait(for: { $0 ? nil : () })
                }
            }
        }
        let calls = await SystemThread.value { told.wait { $0.isEmpty ? nil : $0 } }
        isHeld.updateAll { $0 = false }
        while owner.slowCount > 0 { await Task.yield() }
        #expect(told.update { $0.count } == 1)
        #expect(calls.map(\.owner) == ["stuck"])
        #expect(calls.map(\.kind.name) == ["handle()"])
        threads.stop()
    }

    /// Whoever submits a job last wakes nobody for it, and the thread that was stood in for ends.
    @Test(arguments: [false, true])
    func `what a thread leaves when it ends is done by another`(isReminder: Bool) async {
        let threads = Self.watched(count: 1)
        let isHeld = Gate(true)
        await withCheckedContinuation { continuation in
            let owner = Gate(())
            threads.submitBounded {
                Self.block(isHeld, of: CallOwner("stuck"))
                guard isReminder else {
                    threads.submitNext { continuation.resume() }
                    return
                }
                threads.remind(owner, atNs: SystemClock.monotonicNs + 1_000_000) {
                    withExtendedLifetime(owner) { continuation.resume() }
                }
            }
            // Its stand-in has nothing to do by then.
            threads.submitBounded {
                SystemThread.start("test") {
                    while !threads.hasSpare { sched_yield() }
                    isHeld.updateAll { $0 = false }
                }
            }
        }
        threads.stop()
    }

    @Test func `threads in the place of others are bounded, and end when those are back`() async {
        let threads = Self.watched(count: 1)
        let owner = CallOwner("stuck")
        let isHeld = Gate(true)
        let started = Gate(0)
        for _ in 0..<200 {
            threads.submitBounded {
                started.update { $0 += 1 }
                Self.block(isHeld, of: owner)
            }
        }
        await SystemThread.value { started.wait { $0 == 65 ? () : nil } }
        #expect(threads.spareCount == 64)
        isHeld.updateAll { $0 = false }
        await SystemThread.value { started.wait { $0 == 200 ? () : nil } }
        // Each that is back ends one, once it has nothing else to do.
        while threads.spareCount > 0 {
            await withCheckedContinuation { continuation in
                threads.submitBounded { continuation.resume() }
            }
        }
        threads.stop()
    }
}
