internal import SignalboxThreads
internal import Synchronization

/// Counts the calls into a plugin and the answers it waits for, so that a stop can wait until all
/// have ended.
final class CallGate: Sendable {
    private let state = Atomic<Int>(0)
    private static let closed = Int.min / 2

    func enter() -> Bool {
        if state.wrappingAdd(1, ordering: .acquiring).newValue > 0 { return true }
        state.wrappingSubtract(1, ordering: .releasing)
        return false
    }

    func leave() { state.wrappingSubtract(1, ordering: .releasing) }

    /// Lets none begin. False if some still run at the deadline.
    func close(deadlineNs: UInt64) -> Bool {
        if state.load(ordering: .acquiring) >= 0 {
            state.wrappingAdd(Self.closed, ordering: .acquiringAndReleasing)
        }
        let pause = Gate(())
        while state.load(ordering: .acquiring) > Self.closed {
            let now = SystemClock.monotonicNs
            guard now < deadlineNs else { return false }
            let until = min(deadlineNs, now + 1_000_000)
            pause.wait(until: { _ in (SystemClock.monotonicNs >= until ? () : nil, until) })
        }
        return true
    }
}
