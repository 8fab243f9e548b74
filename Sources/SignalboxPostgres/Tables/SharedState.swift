internal import SignalboxCore
internal import Synchronization

/// Numbers that the writer sets and others read.
final class SharedState: Sendable {
    let waiting: Atomic<Int>
    let outcomes: Atomic<Int>
    /// Other gateways that live, as of the last few seconds.
    let others = Atomic(0)
    private let own = Mutex(("", [String]?.none))
    private let history = Mutex<HistoryLimits?>(nil)

    /// How much history is kept; nil until it is set, and existing history stays until then.
    var historyLimits: HistoryLimits? {
        get { history.withLock { $0 } }
        set { history.withLock { $0 = newValue } }
    }

    /// This gateway's configuration, as a short digest.
    var configuration: String {
        get { own.withLock { $0.0 } }
        set { own.withLock { $0.0 = newValue } }
    }

    /// The receivers of outcomes in this gateway's configuration; nil until they are set.
    var receivers: [String]? {
        get { own.withLock { $0.1 } }
        set { own.withLock { $0.1 = newValue } }
    }

    init(waiting: Int, outcomes: Int) {
        self.waiting = Atomic(waiting)
        self.outcomes = Atomic(outcomes)
    }
}
