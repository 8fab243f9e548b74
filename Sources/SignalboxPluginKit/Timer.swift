internal import CSignalbox
internal import Synchronization

extension Host {
    /// A timer that was set. It fires even if this value is not kept.
    public struct Timer: Sendable {
        fileprivate let work: TimerWork
        fileprivate let id: UInt64

        /// Cancels the timer. After this returns, the closure is not running and never will, unless it made this call.
        public func cancel() {
            guard let host = work.host else { return }
            host.services.timer.cancel?(host.raw, id)
            host.timers.remove(work)
        }
    }

    /// Runs a closure once on a worker thread, at least `ms` milliseconds from now; nil if it will not run.
    ///
    /// A closure that is still waiting when the instance stops never runs.
    @discardableResult
    public func after(ms: UInt64, _ body: @escaping @Sendable () -> Void) -> Timer? {
        let work = TimerWork(host: self, body)
        // Before the timer is set, because it may fire at once.
        timers.add(work)
        let id = services.timer.after?(
            raw, ms, { TimerWork.run($0) }, Unmanaged.passUnretained(work).toOpaque())
        guard let id, id != 0 else {
            timers.remove(work)
            return nil
        }
        return Timer(work: work, id: id)
    }
}

/// The closure of a timer. Its host keeps it until it runs, is cancelled, or the instance is gone.
final class TimerWork: Sendable {
    weak let host: Host?
    private let body: @Sendable () -> Void

    init(host: Host, _ body: @escaping @Sendable () -> Void) {
        self.host = host
        self.body = body
    }

    static func run(_ context: UnsafeMutableRawPointer?) {
        guard let context else { return }
        let work = Unmanaged<TimerWork>.fromOpaque(context).takeUnretainedValue()
        work.host?.timers.remove(work)
        work.body()
    }
}

/// The timers that are set.
final class TimerList: Sendable {
    private let all = Mutex<[ObjectIdentifier: TimerWork]>([:])

    func add(_ work: TimerWork) { all.withLock { $0[ObjectIdentifier(work)] = work } }

    func remove(_ work: TimerWork) {
        // Freed outside of the lock: a closure's captures may set or cancel timers when they are freed.
        let gone = all.withLock { $0.removeValue(forKey: ObjectIdentifier(work)) }
        _ = consume gone
    }

    func removeAll() {
        let gone = all.withLock { all in
            defer { all = [:] }
            return all
        }
        _ = consume gone
    }
}
