internal import Logging
internal import SignalboxConfig
internal import SignalboxCore
internal import SignalboxHTTP
internal import SignalboxObservability
internal import SignalboxThreads
internal import Synchronization

/// Posts spans to an OTLP/HTTP receiver, one batch at a time.
///
/// Nothing waits for it: above its limit, spans are dropped and counted.
final class SpanExporter: Sendable {
    private struct State {
        var settings: TracingSettings?
        var spans: [Span] = []
        /// Whether a request, or the wait before one, is in progress.
        var isBusy = false
        var isStopped = false
    }

    /// Most waiting spans.
    private static let waitingMax = 8_192
    private static let batchMax = 512
    /// The least time between batches that are not full.
    private static let paceMs: UInt64 = 1_000
    /// The wait before an unreachable receiver is tried again.
    private static let pauseMs: UInt64 = 5_000

    private let gateway: String
    private let rest: RESTClient
    private let alarms: AlarmClock
    private let logger: Logger
    private let metrics: GatewayMetrics
    private let lines = FaultLines()
    private let underWay = UnderWay()
    private let state = Mutex(State())

    init(_ runtime: GatewayRuntime) {
        gateway = runtime.name
        rest = runtime.rest
        alarms = runtime.alarms
        logger = runtime.logger
        metrics = runtime.metrics
    }

    func replace(with settings: TracingSettings?) {
        let dropped = state.withLock { state in
            state.settings = settings
            guard settings == nil else { return 0 }
            defer { state.spans = [] }
            return state.spans.count
        }
        count("dropped", dropped)
        guard settings != nil else { return }
        // Makes the series appear as 0 from now on.
        for result in ["sent", "dropped"] { metrics.spans[result].add(0) }
    }

    func add(_ new: [Span]) {
        let (dropped, begins) = state.withLock { state -> (Int, Bool) in
            guard state.settings != nil, !state.isStopped else { return (new.count, false) }
            let room = Self.waitingMax - state.spans.count
            state.spans += new.prefix(room)
            defer { state.isBusy = true }
            return (new.count - min(room, new.count), !state.isBusy)
        }
        count("dropped", dropped)
        if begins { after(Self.paceMs) }
    }

    /// Posts waiting spans once, and accepts no more.
    func stop() async {
        state.withLock { $0.isStopped = true }
        post()
        let underWay = underWay
        let deadline = SystemClock.monotonicNs + 2_000_000_000
        _ = await SystemThread.value { underWay.waitForNone(deadlineNs: deadline) }
    }

    private func after(_ ms: UInt64) {
        alarms.after(ms: ms) { [weak self] in self?.post() }
    }

    private func post() {
        let (batch, settings) = state.withLock { state -> ([Span], TracingSettings?) in
            let batch = Array(state.spans.prefix(Self.batchMax))
            state.spans.removeFirst(batch.count)
            if batch.isEmpty { state.isBusy = false }
            return (batch, state.settings)
        }
        guard !batch.isEmpty, let settings else { return }
        let resource: [JSONValue.Member] = [
            .init("service.name", .string("signalbox")),
            .init("service.instance.id", .string(gateway)),
            .init("service.version", .string(Release.version)),
        ]
        let body = Span.export(batch, resource: resource, version: Release.version)
        var call = RESTCall(
            method: "POST", url: settings.endpoint,
            headers: [Attribute("content-type", "application/json")] + settings.headers,
            body: Array(body.text.utf8))
        call.caFile = settings.caFile
        call.owner = "#spans"
        underWay.adjust(by: 1)
        do throws(RESTFault) {
            try rest.submit(call) { result in
                self.answered(result, batch)
                self.underWay.adjust(by: -1)
            }
        } catch {
            answered(.failure(error), batch)
            underWay.adjust(by: -1)
        }
    }

    private func answered(_ result: Result<RESTAnswer, RESTFault>, _ batch: [Span]) {
        let (words, isLater): (String, Bool)
        switch result {
        case .success(let answer) where answer.status / 100 == 2:
            count("sent", batch.count)
            let isMore = state.withLock { $0.spans.count >= Self.batchMax || $0.isStopped }
            return isMore ? post() : after(Self.paceMs)
        case .success(let answer):
            words = "status \(answer.status)"
            // Retried as OTLP says; other failures would only repeat.
            isLater = [429, 502, 503, 504].contains(answer.status)
        case .failure(let fault):
            (words, isLater) = (fault.message, true)
        }
        let dropped = state.withLock { state in
            guard isLater, !state.isStopped else { return batch.count }
            // Keeps the newest, which show the current problem.
            let room = Self.waitingMax - state.spans.count
            state.spans = batch.suffix(room) + state.spans
            return batch.count - min(room, batch.count)
        }
        count("dropped", dropped)
        if let skipped = lines.write(words) {
            logger.warning(
                "the receiver of spans takes none",
                metadata: ["error": "\(words)", "count": "\(skipped + 1)"])
        }
        after(Self.pauseMs)
    }

    private func count(_ result: String, _ count: Int) {
        if count > 0 { metrics.spans[result].add(Int64(count)) }
    }
}
