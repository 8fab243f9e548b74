import Glibc
import SignalboxCore
import SignalboxStore
import SignalboxThreads
import Synchronization
import Testing

/// Commits that workers make themselves.
@Suite struct LeaderTests {
    typealias Rig = StoreTests.Rig

    private static func entry(_ id: UInt64, isTaken: Bool = true) -> StoreEntry {
        let item = StoreTests.item([StoreTests.delivery(id)], taken: isTaken ? [id] : [])
        return StoreEntry(items: [item], receivedUnixMs: 1_000, dedupeMs: 0)
    }

    /// Runs a job on a worker of two, while the other one rests.
    private static func onSpareWorker<Value: Sendable>(
        _ threads: WorkerThreads, _ job: @escaping @Sendable () -> Value
    ) async -> Value {
        await withCheckedContinuation { continuation in
            threads.submitBounded {
                while !threads.hasSpare { sched_yield() }
                continuation.resume(returning: job())
            }
        }
    }

    @Test func `a spare worker commits a lone event, and has its answer at once`() async throws {
        let rig = try Rig()
        let threads = WorkerThreads(count: 2, waitingMax: 10)
        let answers = await Self.onSpareWorker(threads) {
            let own = pthread_self()
            let answers = Mutex<[Bool]>([])
            rig.store.append(Self.entry(1)) { answer in
                guard case .committed = answer else { return }
                answers.withLock { $0.append(own == pthread_self()) }
            }
            return answers.withLock { $0 }
        }
        #expect(answers == [true])
        #expect(rig.store.waitingCount == 1)
        threads.stop()
        await rig.store.close()
    }

    @Test func `an outcome goes with the next event of a worker`() async throws {
        let rig = try Rig()
        let token = await rig.currentToken()
        let threads = WorkerThreads(count: 2, waitingMax: 10)
        let known = await Self.onSpareWorker(threads) {
            let known = Mutex<[String]>([])
            rig.store.append(Self.entry(1)) { _ in }
            rig.store.settle([.delivered(1)], under: token, outcomes: OutcomePack()) { _ in
                known.withLock { $0.append("outcome") }
            }
            rig.store.append(Self.entry(2)) { _ in known.withLock { $0.append("event") } }
            return known.withLock { $0 }
        }
        #expect(Set(known) == ["outcome", "event"])
        #expect(rig.store.waitingCount == 1)
        threads.stop()
        await rig.store.close()
    }

    @Test func `an outcome without company is committed all the same`() async throws {
        let rig = try Rig()
        let token = await rig.currentToken()
        let threads = WorkerThreads(count: 2, waitingMax: 10)
        await withCheckedContinuation { continuation in
            threads.submitBounded {
                while !threads.hasSpare { sched_yield() }
                for id in UInt64(1)...2 { rig.store.append(Self.entry(id)) { _ in } }
                rig.store.settle([.delivered(1)], under: token, outcomes: OutcomePack()) { _ in
                    continuation.resume()
                }
            }
        }
        #expect(rig.store.waitingCount == 1)
        threads.stop()
        await rig.store.close()
    }

    @Test func `an answer may ask the store for more`() async throws {
        let rig = try Rig()
        let threads = WorkerThreads(count: 2, waitingMax: 10)
        await withCheckedContinuation { continuation in
            threads.submitBounded {
                rig.store.append(Self.entry(1)) { _ in
                    rig.store.append(Self.entry(2)) { _ in continuation.resume() }
                }
            }
        }
        #expect(rig.store.waitingCount == 2)
        threads.stop()
        await rig.store.close()
    }

    @Test func `workers and others commit together, and nothing is lost`() async throws {
        let rig = try Rig()
        let token = await rig.currentToken()
        let threads = WorkerThreads(count: 3, waitingMax: 10_000)
        let count = UInt64(400)
        await withTaskGroup(of: Void.self) { group in
            for id in 1...count {
                group.addTask {
                    await withCheckedContinuation { continuation in
                        @Sendable func append() {
                            rig.store.append(Self.entry(id)) { _ in
                                @Sendable func settle() {
                                    rig.store.settle(
                                        [.delivered(id)], under: token, outcomes: OutcomePack()
                                    ) { _ in continuation.resume() }
                                }
                                if id % 3 == 0 { settle() } else { threads.submitNext(settle) }
                            }
                        }
                        if id % 2 == 0 { append() } else { threads.submitBounded(append) }
                    }
                }
            }
        }
        #expect(rig.store.waitingCount == 0)
        #expect(try rig.count("flight") == 0)
        // Whoever leads, a close waits for it.
        for id in count + 1...count + 50 {
            threads.submitBounded { rig.store.append(Self.entry(id)) { _ in } }
        }
        await rig.store.close()
        threads.stop()
        let next = try Rig(folder: rig.folder)
        #expect(next.store.waitingCount <= 50)
        await next.store.close()
        #expect(rig.faults.value.isEmpty)
    }
}
