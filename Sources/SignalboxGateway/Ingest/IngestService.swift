internal import Logging
internal import SignalboxConfig
internal import SignalboxCore
internal import SignalboxCrypto
package import SignalboxDispatch
package import SignalboxHTTP
internal import SignalboxObservability
internal import SignalboxPluginHost
internal import SignalboxThreads
internal import Synchronization

/// The public listener: finds the instance for a path, passes it the bytes, and answers once its events are accepted.
package final class IngestService: HTTPServerHandler {
    private let context: DispatchContext
    private let pipeline: EventPipeline
    private let deviceReports: DeviceReports
    /// Rate limits of the sources.
    private let buckets = Mutex(TokenBuckets(countMax: 1_000))
    /// Rate limits of end users.
    private let users = UserBounds()
    private let lines = FaultLines()
    package let refusals: RefusalLines

    package init(context: DispatchContext, pipeline: EventPipeline, deviceReports: DeviceReports) {
        self.context = context
        self.pipeline = pipeline
        self.deviceReports = deviceReports
        refusals = RefusalLines(context.logger, context.alarms)
    }

    private var devices: DevicesService {
        DevicesService(
            access: context.current.generation.devices, registry: context.store,
            names: context.users,
            deviceReports: deviceReports, outcomes: context.outcomes, bounds: users,
            metrics: context.metrics, clock: context.clock,
            onChange: { [context] in context.record($0) })
    }

    private var paths: PathTable<any Ingesting> { context.current.generation.instances.paths }

    package func refusal(method: String, path: String) -> HTTPServerAnswer? {
        if DevicesService.serves(path) {
            return devices.refusal(method: method, path: path).map { refused($0, "devices") }
                ?? excess(of: "devices")
        }
        switch paths.find(method: method, path: path) {
        case .match(let match): return excess(of: match.owner.instanceName)
        case .none: return refused(Problem(404, "nothing is served under this path").answer)
        case .wrongMethod(let allowed):
            return refused(Problem.methodNotAllowed(allowed))
        }
    }

    package func wasRefused(method: String, path: String, status: Int) {
        var instance = DevicesService.serves(path) ? "devices" : ""
        if case .match(let match) = paths.find(method: method, path: path) {
            instance = match.owner.instanceName
        }
        context.metrics.request(instance: instance, status: status)
    }

    /// The 429 answer for a source that sends too much; nil if it is within its limit.
    private func excess(of source: String) -> HTTPServerAnswer? {
        let rate = context.current.generation.plan.config.gateway.limits.sourceRate
        guard rate > 0 else { return nil }
        let now = SystemClock.monotonicNs
        let wait = buckets.withLock { $0.take(source, perSecond: rate, nowNs: now) }
        guard let wait else { return nil }
        context.metrics.limitsReached["listen", "source_rate"].add()
        if let skipped = lines.write(source) {
            context.logger.warning(
                "a source sends too many requests, answering 429",
                metadata: [
                    "plugin.instance": "\(source)", "count": "\(skipped + 1)",
                    "key": "gateway.limits.source_rate",
                ])
        }
        return refused(
            Problem.tooMany("too many requests for this source", retryAfterSeconds: wait), source)
    }

    private func refused(_ answer: HTTPServerAnswer, _ instance: String = "") -> HTTPServerAnswer {
        context.metrics.request(instance: instance, status: answer.status)
        return answer
    }

    package func answer(
        _ request: HTTPServerRequest, done: @escaping @Sendable (HTTPServerAnswer) -> Void
    ) {
        if DevicesService.serves(request.path) {
            let (devices, metrics) = (devices, context.metrics)
            Task {
                let answer = await devices.answer(request)
                metrics.request(instance: "devices", status: answer.status)
                done(answer)
            }
            return
        }
        guard case .match(let match) = paths.find(method: request.method, path: request.path) else {
            done(Problem(404, "nothing is served under this path").answer)
            return
        }
        var inbound = IngestRequest(
            method: request.method, path: request.path, pattern: match.pattern,
            body: request.body, receivedUnixMs: context.clock())
        inbound.query = request.query
        inbound.remote = request.remote
        inbound.params = match.params
        inbound.headers = request.headers
        if !request.clientCertificate.isEmpty {
            let certificate = try? Certificate.read(der: request.clientCertificate)
            inbound.clientCertificate = certificate?.subject ?? ""
        }
        let header = context.spans.isOn ? request.headers.first { $0.key == "traceparent" } : nil
        let call = IngestCall(inbound, span: context.spans.request(header?.value), done)
        let isTaken = context.workers.submit { self.hand(call, to: match.owner) }
        if !isTaken {
            let answer = Problem.busy("too many requests are waiting for a thread")
            finish(call, answer, match.owner.instanceName)
        }
    }

    private func finish(_ call: IngestCall, _ answer: HTTPServerAnswer, _ instance: String) {
        context.metrics.request(instance: instance, status: answer.status)
        let durationNs = SystemClock.monotonicNs - call.startNs
        context.metrics.accepts[instance].observe(ns: durationNs)
        if let span = call.span {
            let request = call.request
            context.spans.exporter.add([
                span.span(
                    of: instance, method: request.method, status: answer.status,
                    startUnixMs: request.receivedUnixMs, durationNs: durationNs)
            ])
        }
        call.done(answer)
    }

    /// Passes a request to an instance, on a worker.
    private func hand(_ call: IngestCall, to role: any Ingesting) {
        call.begin()
        role.handle(call.request) { result in
            guard call.isLate(result) else { return }
            // The plugin answered later, on a thread of its own; builders must run on the gateway's workers.
            self.context.workers.submitBounded { self.conclude(result, of: call, by: role) }
        }
        if let said = call.returned() { conclude(said, of: call, by: role) }
    }

    private func conclude(_ result: IngestResult, of call: IngestCall, by role: any Ingesting) {
        guard result.fault?.kind == .stopping else {
            settle(result, of: call, role.instanceName)
            return
        }
        guard
            case .match(let match) = paths.find(
                method: call.request.method, path: call.request.path),
            match.owner !== role
        else {
            finish(call, Problem.busy("the gateway is stopping"), role.instanceName)
            return
        }
        // It was just replaced and has not read the request, so its successor gets it.
        hand(call, to: match.owner)
    }

    /// Commits the events and changes of a request; answers when they are on disk.
    private func settle(_ result: IngestResult, of call: IngestCall, _ instance: String) {
        for reject in result.rejects {
            context.metrics.itemsRejected[instance, reject.reason].add()
            // Mostly other kinds of items that the source sends: nobody's fault. A metric counts them.
            context.logger.debug(
                "item rejected",
                metadata: [
                    "plugin.instance": "\(instance)", "reason": "\(reject.reason)",
                    "detail": "\(reject.detail)",
                ])
        }
        if let fault = result.fault {
            refusals.note(fault, by: instance, client: call.request.remote)
            finish(call, result.httpAnswer, instance)
            return
        }
        guard !result.events.isEmpty || !result.changes.isEmpty else {
            finish(call, result.httpAnswer, instance)
            return
        }
        let onID = call.span.map { [spans = context.spans] span in
            { @Sendable (id: UInt64) in spans.follow(id, span) }
        }
        pipeline.accept(
            result.events, changes: result.changes, from: instance,
            receivedUnixMs: call.request.receivedUnixMs, onID: onID
        ) { answer, events in
            switch answer {
            case .committed(let commit):
                var answer = result.httpAnswer
                if !events.isEmpty {
                    answer.headers.append(
                        Attribute("signalbox-event", Self.list(events, commit.duplicates)))
                }
                self.finish(call, answer, instance)
            case .full, .diskFull, .unavailable:
                self.finish(call, Problem.busy("\(answer.words), send it again"), instance)
            case .tooLarge(let words): self.finish(call, Problem(413, words).answer, instance)
            case .unprocessable(let words):
                self.finish(call, Problem(422, words).answer, instance)
            case .failed:
                // Its message may name files and tables, so it goes only to the log.
                let words = "the event could not be stored, send it again"
                self.finish(call, Problem.busy(words), instance)
            }
        }
    }

    /// Most ids in an answer, since clients limit the length of headers.
    private static let idsMax = 100

    /// A list as in RFC 9651: `48213, 48214;duplicate`.
    private static func list(_ events: [CommittedEvent], _ duplicates: Set<Int>) -> String {
        var out = ""
        for (index, event) in events.prefix(idsMax).enumerated() {
            if index > 0 { out += ", " }
            out += String(event.id)
            if duplicates.contains(index) { out += ";duplicate" }
        }
        return out
    }

}

/// A request being handled by an instance, and whom to answer.
///
/// A reply given during the call is read when the call returns, on the same worker, which saves a hand-over.
private final class IngestCall: Sendable {
    private enum Reply {
        case asked
        case said(IngestResult)
        case returned
    }

    let startNs = SystemClock.monotonicNs
    let request: IngestRequest
    let span: RequestSpan?
    let done: @Sendable (HTTPServerAnswer) -> Void
    private let reply = Mutex(Reply.asked)

    init(
        _ request: IngestRequest, span: RequestSpan?,
        _ done: @escaping @Sendable (HTTPServerAnswer) -> Void
    ) {
        self.request = request
        self.span = span
        self.done = done
    }

    /// A role is asked again; the previous one has given its only result.
    func begin() { reply.withLock { $0 = .asked } }

    /// Stores the role's result; true if the call had already returned.
    func isLate(_ result: IngestResult) -> Bool {
        reply.withLock { reply in
            if case .returned = reply { return true }
            reply = .said(result)
            return false
        }
    }

    /// The call has returned; the result given during it, if any.
    func returned() -> IngestResult? {
        reply.withLock { reply in
            defer { reply = .returned }
            if case .said(let result) = reply { return result }
            return nil
        }
    }
}
