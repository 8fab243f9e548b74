internal import Glibc

/// A value protected by a mutex, with a condition variable to wait for changes.
///
/// `@unchecked Sendable`: `slot` is used only while `mutex` is held.
public final class Gate<Value>: @unchecked Sendable {
    private let mutex = UnsafeMutablePointer<pthread_mutex_t>.allocate(capacity: 1)
    private let condition = UnsafeMutablePointer<pthread_cond_t>.allocate(capacity: 1)
    private var slot: Slot

    /// The value, and a byte after it.
    ///
    /// `()` has no size: without that byte its address would be that of whatever follows this
    /// object in memory, and ThreadSanitizer would take a use of the one for a use of the other.
    private struct Slot {
        var value: Value
        let end: UInt8 = 0
    }

    /// Takes the initial value.
    public init(_ value: Value) {
        slot = Slot(value: value)
        pthread_mutex_init(mutex, nil)
        var attributes = pthread_condattr_t()
        pthread_condattr_init(&attributes)
        // Deadlines use the monotonic clock: a change of the wall clock must not block a thread.
        pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC)
        pthread_cond_init(condition, &attributes)
        pthread_condattr_destroy(&attributes)
    }

    deinit {
        pthread_cond_destroy(condition)
        pthread_mutex_destroy(mutex)
        condition.deallocate()
        mutex.deallocate()
    }

    /// Changes the value and wakes one waiting thread.
    @discardableResult
    public func update<Result>(_ change: (inout Value) -> Result) -> Result {
        pthread_mutex_lock(mutex)
        let result = change(&slot.value)
        pthread_mutex_unlock(mutex)
        // After unlocking: a thread woken while the mutex is held would block again at once.
        pthread_cond_signal(condition)
        return result
    }

    /// Changes the value, and wakes one waiting thread if `change` returns true.
    public func updateQuietly(_ change: (inout Value) -> Bool) {
        pthread_mutex_lock(mutex)
        let matters = change(&slot.value)
        pthread_mutex_unlock(mutex)
        if matters { pthread_cond_signal(condition) }
    }

    /// Changes the value and wakes all waiting threads.
    public func updateAll(_ change: (inout Value) -> Void) {
        pthread_mutex_lock(mutex)
        change(&slot.value)
        pthread_mutex_unlock(mutex)
        pthread_cond_broadcast(condition)
    }

    /// Blocks until `attempt` returns a result.
    public func wait<Result>(for attempt: (inout Value) -> Result?) -> Result {
        pthread_mutex_lock(mutex)
        defer { pthread_mutex_unlock(mutex) }
        while true {
            if let result = attempt(&slot.value) { return result }
            pthread_cond_wait(condition, mutex)
        }
    }

    /// Blocks until `attempt` returns a result.
    ///
    /// It calls `attempt` again after a change, and at the time that `attempt` asked for.
    ///
    /// `attempt` returns either a result, or the time to wait until (monotonic
    /// nanoseconds; nil for no limit).
    public func wait<Result>(until attempt: (inout Value) -> (result: Result?, wakeNs: UInt64?))
        -> Result
    {
        pthread_mutex_lock(mutex)
        defer { pthread_mutex_unlock(mutex) }
        while true {
            let (result, wakeNs) = attempt(&slot.value)
            if let result { return result }
            guard let wakeNs else {
                pthread_cond_wait(condition, mutex)
                continue
            }
            var deadline = timespec(
                tv_sec: Int(wakeNs / 1_000_000_000), tv_nsec: Int(wakeNs % 1_000_000_000))
            pthread_cond_timedwait(condition, mutex, &deadline)
        }
    }
}
