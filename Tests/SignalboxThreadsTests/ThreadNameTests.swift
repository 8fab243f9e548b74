import Foundation
import SignalboxThreads
import Testing

/// The names that `top -H` and debuggers show.
@Suite struct ThreadNameTests {
    private func name() -> String {
        let text = try? String(contentsOfFile: "/proc/thread-self/comm", encoding: .utf8)
        return String((text ?? "").dropLast())
    }

    @Test func `a thread has the name that it was started with`() async {
        let name = await withCheckedContinuation { continuation in
            SystemThread.start("sbx-example") { continuation.resume(returning: self.name()) }
        }
        #expect(name == "sbx-example")
    }

    @Test func `a long name is cut to the 15 bytes that Linux keeps`() async {
        let name = await withCheckedContinuation { continuation in
            SystemThread.start("sbx-a-long-example") { continuation.resume(returning: self.name()) }
        }
        #expect(name == "sbx-a-long-exam")
    }

    @Test func `workers and waiting calls say what they are`() async {
        let workers = WorkerThreads(count: 1, waitingMax: 10)
        let worker = await withCheckedContinuation { continuation in
            #expect(workers.submit { continuation.resume(returning: self.name()) })
        }
        workers.stop()
        #expect(worker == "sbx-worker-1")
        #expect(await SystemThread.value { self.name() } == "sbx-wait")
    }
}
