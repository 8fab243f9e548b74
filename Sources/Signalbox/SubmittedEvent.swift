internal import SignalboxAdmin
internal import SignalboxDispatch
internal import SignalboxGateway
internal import SignalboxThreads

/// The result for an event that a program submitted.
public struct SubmittedEvent: Sendable, Hashable {
    /// What became of it.
    public enum Result: UInt32, Sendable {
        /// It is on disk and has deliveries.
        case accepted = 1
        /// Its dedupe key was already used, so it was dropped.
        case duplicate = 2
        /// It is on disk for traces only, since no route takes it.
        case unrouted = 3
        /// It is on disk for traces only, since its routes have no recipient to send to.
        case unreached = 4
        /// It is on disk for traces only, since a builder failed on it, as the log says.
        case failed = 5
    }

    /// Its own id, which outcomes and traces name; duplicates have one, too.
    public let id: UInt64
    /// What became of it.
    public let result: Result
    /// How many deliveries were made.
    public let deliveryCount: Int
    /// For a duplicate: the event that was accepted, if this was requested and the history knows it.
    public internal(set) var originalID: UInt64?
    /// Whether its dedupe key was already used.
    public var isDuplicate: Bool { result == .duplicate }

    init(_ event: CommittedEvent, isDuplicate: Bool) {
        id = event.id
        deliveryCount = isDuplicate ? 0 : event.deliveryCount
        result =
            if isDuplicate {
                .duplicate
            } else {
                switch event.result {
                case nil: .failed
                case "unrouted": .unrouted
                case "unreached": .unreached
                default: .accepted
                }
            }
    }
}

extension Gateway {
    /// The time to search for the originals of all duplicates of a submission, in nanoseconds.
    private static let searchNs: UInt64 = 500_000_000

    /// Searches the history for the events that duplicates repeat. With many duplicates that would read a lot, so those
    /// not found soon stay unknown.
    func findOriginals(of events: inout [SubmittedEvent]) async {
        let (current, store) = (engine.context.current.generation, engine.context.store)
        guard current.keepsHistory, events.contains(where: \.isDuplicate) else { return }
        let untilNs = SystemClock.monotonicNs + Self.searchNs
        for index in events.indices where events[index].isDuplicate {
            guard SystemClock.monotonicNs < untilNs else { return }
            let query = TraceQuery(.event(events[index].id))
            let trace = try? await TraceSearch.run(query, in: store, untilNs: untilNs)
            events[index].originalID = trace?.entries.first?.original
        }
    }
}
