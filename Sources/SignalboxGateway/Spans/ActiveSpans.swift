internal import SignalboxConfig
internal import SignalboxCore
internal import SignalboxDispatch
internal import SignalboxObservability
internal import SignalboxThreads
internal import Synchronization

/// Which events belong to a distributed trace, and which attempts of theirs are running.
///
/// In memory only: after a restart, and after a takeover by another gateway, an event's attempts belong to no trace.
/// `signalbox trace` shows what was stored.
final class ActiveSpans: Sendable {
    private struct Attempt {
        let place: TraceContext
        let parent: UInt64
        let startUnixMs: UInt64
        let startNs: UInt64
    }

    private struct State {
        var samplePercent = 0
        var events = Remembered<TraceContext>()
        /// By delivery id.
        var attempts = Remembered<Attempt>()
    }

    let exporter: SpanExporter
    private let state = Mutex(State())
    private let hasReceiver = Atomic<Bool>(false)

    init(_ exporter: SpanExporter) { self.exporter = exporter }

    /// Whether spans are wanted; checked per batch, so that a gateway without tracing pays nothing else.
    var isOn: Bool { hasReceiver.load(ordering: .relaxed) }

    /// Startup or a reload sets where spans go; nil for nowhere.
    func replace(with settings: TracingSettings?) {
        exporter.replace(with: settings)
        state.withLock { state in
            state.samplePercent = settings?.samplePercent ?? 0
            if settings == nil { state = State() }
        }
        hasReceiver.store(settings != nil, ordering: .relaxed)
    }

    // MARK: Requests

    /// The span of a request with this `traceparent`; nil if it is not recorded.
    func request(_ header: String?) -> RequestSpan? {
        guard isOn else { return nil }
        if let header, let caller = TraceContext(traceparent: header) {
            guard caller.isSampled else { return nil }
            return RequestSpan(place: caller.next(), parent: caller.span)
        }
        let percent = state.withLock { $0.samplePercent }
        guard Int.random(in: 0..<100) < percent else { return nil }
        return RequestSpan(place: .root(), parent: 0)
    }

    /// Adds an event to the trace of its request.
    func follow(_ event: UInt64, _ request: RequestSpan) {
        state.withLock { $0.events[event] = request.place }
    }

    // MARK: Attempts

    /// Deliveries are about to be handed to their sender.
    func sending(_ batch: [Delivery], unixMs: UInt64) {
        let nowNs = SystemClock.monotonicNs
        state.withLock { state in
            for delivery in batch {
                guard let cause = state.events[delivery.eventID] else { continue }
                state.attempts[delivery.id] = Attempt(
                    place: cause.next(), parent: cause.span, startUnixMs: unixMs, startNs: nowNs)
            }
        }
    }

    /// The same requests, with a `traceparent` if their delivery belongs to a trace.
    func marked(_ requests: RequestBatch) -> RequestBatch {
        let places = state.withLock { state in
            requests.requests.map { request in
                requests.items[Int(request.items.lowerBound)..<Int(request.items.upperBound)]
                    .first.flatMap { state.attempts[$0]?.place }
            }
        }
        guard places.contains(where: { $0 != nil }) else { return requests }
        return requests.adding("traceparent", places.map { $0?.traceparent })
    }

    /// Deliveries left memory.
    func ended(_ endings: [LaneEnding]) {
        let nowNs = SystemClock.monotonicNs
        let spans = state.withLock { state in
            endings.compactMap { ending -> Span? in
                guard let attempt = state.attempts.remove(ending.delivery.id) else { return nil }
                switch ending.kind {
                case .released, .aside, .cancelled, .failed(_, wasSent: false): return nil
                case .delivered, .retry, .superseded, .failed(_, wasSent: true):
                    return Self.span(ending, attempt, nowNs)
                }
            }
        }
        if !spans.isEmpty { exporter.add(spans) }
    }

    private static func span(_ ending: LaneEnding, _ attempt: Attempt, _ nowNs: UInt64) -> Span {
        let (delivery, outcome) = (ending.delivery, ending.outcome)
        var attributes: [JSONValue.Member] = [
            .init("signalbox.event.id", .string(String(delivery.eventID))),
            .init("signalbox.route", .string(delivery.route)),
            .init("signalbox.delivery.id", .string(delivery.stableID)),
            .init("signalbox.attempt", .integer(Int64(delivery.attempt))),
        ]
        if outcome.providerCode > 0 {
            attributes.append(
                .init("http.response.status_code", .integer(Int64(outcome.providerCode))))
        }
        var fault: String?
        if ending.kind != .delivered {
            fault = outcome.reason
            attributes.append(.init("error.type", .string(outcome.reason)))
        }
        return Span(
            "send \(delivery.sender)", .client, at: attempt.place, parent: attempt.parent,
            startUnixMs: attempt.startUnixMs, durationNs: nowNs - min(nowNs, attempt.startNs),
            attributes: attributes, fault: fault)
    }
}

/// The span of a webhook.
package struct RequestSpan: Sendable {
    let place: TraceContext
    /// The caller's span; 0 if none.
    let parent: UInt64

    /// The finished span. It omits the path, which may be secret.
    func span(
        of instance: String, method: String, status: Int, startUnixMs: UInt64, durationNs: UInt64
    ) -> Span {
        Span(
            "webhook \(instance)", .server, at: place, parent: parent, startUnixMs: startUnixMs,
            durationNs: durationNs,
            attributes: [
                .init("http.request.method", .string(method)),
                .init("http.response.status_code", .integer(Int64(status))),
            ], fault: status >= 500 ? "\(status)" : nil)
    }
}

/// The last 20,000 to 40,000 values, by number.
private struct Remembered<Value: Sendable> {
    private static var countMax: Int { 20_000 }
    private var young: [UInt64: Value] = [:]
    private var old: [UInt64: Value] = [:]

    subscript(number: UInt64) -> Value? {
        get { young[number] ?? old[number] }
        set {
            if young.count >= Self.countMax { (old, young) = (young, [:]) }
            young[number] = newValue
        }
    }

    mutating func remove(_ number: UInt64) -> Value? {
        let young = young.removeValue(forKey: number)
        let old = old.removeValue(forKey: number)
        return young ?? old
    }
}

extension RequestBatch {
    /// The same requests with one more header field; `values` by request, nil for none.
    func adding(_ name: String, _ values: [String?]) -> RequestBatch {
        var out = RequestBatch()
        out.reserve(requests: requests.count, bytes: bytes.count + 64 * requests.count)
        _ = out.append(bytes: bytes)
        let field = out.append(bytes: name.utf8)
        for (request, value) in zip(requests, values) {
            for index in request.headers { out.append(header: headers[Int(index)]) }
            var unindexed = request.unindexedHeaders
            if let value {
                if request.headers.count < 64 { unindexed |= 1 << UInt64(request.headers.count) }
                out.append(header: Header(name: field, value: out.append(bytes: value.utf8)))
            }
            for index in request.items { out.append(item: items[Int(index)]) }
            out.appendRequest(
                method: request.method, path: request.path, body: request.body,
                unindexedHeaders: unindexed, origin: request.origin, context: request.context,
                shortened: request.shortened)
        }
        return out
    }
}
