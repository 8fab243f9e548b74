import Glibc
import SignalboxThreads
import Synchronization
import Testing

/// Which worker runs what, and when.
@Suite struct WorkerRestTests {
    private final class Owner: Sendable {}

    @Test func `a worker runs next what it submits last`() async {
        let threads = WorkerThreads(count: 2, waitingMax: 10)
        let isSame = await withCheckedContinuation { continuation in
            threads.submitBounded {
                let first = pthread_self()
                threads.submitNext { continuation.resume(returning: first == pthread_self()) }
            }
        }
        #expect(isSame)
        threads.stop()
    }

    @Test func `of two jobs that a worker submits another one takes one`() async {
        let threads = WorkerThreads(count: 2, waitingMax: 10)
        let isDone = Gate(false)
        await withCheckedContinuation { continuation in
            threads.submitBounded {
                threads.submitNext { isDone.update { $0 = true } }
                threads.submitNext {}
                // Whoever takes the first, this worker waits for it.
                isDone.wait { $0 ? () : nil }
                continuation.resume()
            }
        }
        threads.stop()
    }

    @Test func `a worker knows its threads, and others have none`() async {
        let threads = WorkerThreads(count: 1, waitingMax: 10)
        let isKnown = await withCheckedContinuation { continuation in
            threads.submitBounded {
                continuation.resume(returning: WorkerThreads.current === threads)
            }
        }
        #expect(isKnown)
        threads.stop()
    }

    @Test func `a worker that rests alone is no spare one`() async {
        let threads = WorkerThreads(count: 1, waitingMax: 10)
        let hasSpare = await withCheckedContinuation { continuation in
            threads.submitBounded { continuation.resume(returning: threads.hasSpare) }
        }
        #expect(!hasSpare)
        threads.stop()
    }

    @Test func `a reminder runs at its time, and a forgotten one never`() async {
        let threads = WorkerThreads(count: 1, waitingMax: 10)
        let (kept, dropped) = (Owner(), Owner())
        let isWrong = Atomic(false)
        let start = SystemClock.monotonicNs
        let ranNs = await withCheckedContinuation { continuation in
            threads.submitBounded {
                threads.remind(dropped, atNs: start + 1_000_000) {
                    isWrong.store(true, ordering: .relaxed)
                }
                threads.remind(kept, atNs: start + 2_000_000) {
                    continuation.resume(returning: SystemClock.monotonicNs)
                }
                threads.forget(dropped)
            }
        }
        #expect(ranNs >= start + 2_000_000)
        let wasForgotten = !isWrong.load(ordering: .relaxed)
        #expect(wasForgotten)
        threads.stop()
    }
}
