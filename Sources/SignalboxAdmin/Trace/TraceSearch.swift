package import SignalboxCore
internal import SignalboxThreads

/// Events found in a store's history, with what happened to their deliveries.
package struct Trace: Sendable {
    /// A step, and the gateway that took it; empty if the store serves one.
    typealias Step = (step: HistoryStep, gateway: String)

    /// An event and what became of it.
    package struct Entry: Sendable {
        var event: HistoryEvent
        /// The gateway that accepted it; empty if the store serves one.
        var gateway: String
        /// What happened to its deliveries, and to the notifications shown, in order.
        var steps: [Step] = []
        /// For a duplicate: the event that was accepted.
        package var original: UInt64?
    }

    /// Newest first.
    package var entries: [Entry] = []
    /// Whether there may be older events.
    var isCut = false
}

/// Searches a store's history from new to old.
package struct TraceSearch {
    /// Longest search, in nanoseconds; what was found by then is shown.
    private static let patienceNs: UInt64 = 8_000_000_000

    private let store: any HistoryStore
    private let query: TraceQuery
    private let untilNs: UInt64
    private var steps: [UInt64: [Trace.Step]] = [:]
    private var trace = Trace()

    private init(_ store: any HistoryStore, _ query: TraceQuery, untilNs: UInt64?) {
        self.store = store
        self.query = query
        self.untilNs = untilNs ?? SystemClock.monotonicNs + Self.patienceNs
    }

    /// Finds the events of a query; `untilNs`: when it gives up, on the monotonic clock.
    package static func run(
        _ query: TraceQuery, in store: any HistoryStore, untilNs: UInt64? = nil
    ) async throws -> Trace {
        var search = TraceSearch(store, query, untilNs: untilNs)
        try await search.find()
        return search.trace
    }

    private mutating func find() async throws {
        try await findEvents()
        if case .sourceID = query.subject {
            // Steps are not tagged with the source's id.
            for entry in trace.entries {
                try await look(for: [.event(entry.event.id)]) { search, row in
                    search.keep(row.read().steps, row.gateway)
                    return true
                }
            }
        }
        for place in trace.entries.indices {
            let event = trace.entries[place].event
            let known = Set(event.targets.filter { query.takes($0) }.map(\.delivery))
            trace.entries[place].steps = (steps[event.id] ?? [])
                .filter { $0.step.delivery == 0 || known.contains($0.step.delivery) }
                .sorted { $0.step.unixMs < $1.step.unixMs }
            guard event.isDuplicate else { continue }
            trace.entries[place].original = try await original(of: event)
        }
    }

    private mutating func findEvents() async throws {
        try await look(for: query.tags) { search, row in
            let (events, steps) = row.read()
            search.keep(steps, row.gateway)
            for event in events.reversed() where search.query.takes(event) {
                guard search.trace.entries.count < search.query.limit else {
                    search.trace.isCut = true
                    return false
                }
                search.trace.entries.append(Trace.Entry(event: event, gateway: row.gateway))
                // An event's id is unique, so nothing older matches.
                if case .event = search.query.subject { return false }
            }
            return true
        }
    }

    private mutating func keep(_ found: [HistoryStep], _ gateway: String) {
        for step in found { steps[step.eventID, default: []].append((step, gateway)) }
    }

    /// The event that a duplicate repeats.
    private mutating func original(of event: HistoryEvent) async throws -> UInt64? {
        var found: UInt64?
        try await look(for: [.sourceID(event.sourceID)]) { _, row in
            for other in row.read().events.reversed()
            where !other.isDuplicate && other.sourceID == event.sourceID
                && other.source == event.source && other.receivedUnixMs <= event.receivedUnixMs
            {
                found = other.id
                return false
            }
            return true
        }
        return found
    }

    /// Calls `body` with rows, newest first, until it returns false.
    private mutating func look(
        for tags: [HistoryTag], _ body: (inout Self, HistoryRow) -> Bool
    ) async throws {
        var search = HistorySearch(tags, sinceUnixMs: query.sinceUnixMs)
        repeat {
            let page = try await store.history(search)
            for row in page.rows where !body(&self, row) { return }
            search.cursor = page.next
        } while search.cursor != nil && SystemClock.monotonicNs < untilNs
        if search.cursor != nil { trace.isCut = true }
    }
}
