internal import SignalboxAdmin
internal import SignalboxGateway
internal import SignalboxThreads

/// What became of an event that a program has submitted.
public struct SubmittedEvent: Sendable, Hashable {
    /// How it went.
    public enum Result: UInt32, Sendable {
        /// It is on disk and has deliveries.
        case accepted = 1
        /// Its dedupe key was seen before: it was dropped.
        case duplicate = 2
        /// It is on disk for traces: no route takes it.
        case unrouted = 3
        /// The same: routes take it, and none has a recipient to send to.
        case unreached = 4
        /// The same: a builder failed on it, as the log says.
        case failed = 5
    }

    /// Its own id, which outcomes and traces name; also of a duplicate.
    public let id: UInt64
    /// How it went.
    public let result: Result
    /// How many deliveries were made.
    public let deliveryCount: Int
    /// Of a duplicate: the event that was accepted, if the history knows it and this was looked for.
    public internal(set) var originalID: UInt64?
    /// Its dedupe key was seen before.
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
    /// All duplicates of one submission together get about this long, in nanoseconds.
    private static let searchNs: UInt64 = 500_000_000

    /// Looks in the history for the events that duplicates repeat. A program that submits many of them would read much:
    /// what is not found soon stays unknown.
    func findOriginals(of events: inout [SubmittedEvent]) async {
        let (live, store) = (engine.context.live.now, engine.context.store)
        guard live.keepsHistory, events.contains(where: \.isDuplicate) else { return }
        let untilNs = SystemClock.monotonicNs + Self.searchNs
        for index in events.indices where events[index].isDuplicate {
            guard SystemClock.monotonicNs < untilNs else { return }
            let query = TraceQuery(.event(events[index].id))
            let trace = try? await TraceSearch.run(query, in: store, untilNs: untilNs)
            events[index].originalID = trace?.entries.first?.original
        }
    }
}
