internal import Logging
internal import SignalboxCore
internal import SignalboxCrypto
internal import SignalboxHTTP
internal import SignalboxPluginHost
internal import SignalboxThreads
internal import Synchronization

/// The public listener: finds the instance of a path, hands it the bytes, and answers when its
/// events are accepted.
final class IngestService: HTTPServerHandler {
    private let context: DispatchContext
    private let pipeline: EventPipeline
    private let deviceReports: DeviceReports

    init(context: DispatchContext, pipeline: EventPipeline, deviceReports: DeviceReports) {
        self.context = context
        self.pipeline = pipeline
        self.deviceReports = deviceReports
    }

    private var devices: DevicesService {
        DevicesService(
            access: context.live.now.devices, registry: context.store, names: context.users,
            deviceReports: deviceReports, outcomes: context.outcomes, clock: context.clock)
    }

    private var paths: PathTable<any Ingesting> { context.live.now.instances.paths }

    func refusal(method: String, path: String) -> HTTPServerAnswer? {
        if DevicesService.serves(path) {
            return devices.refusal(method: method, path: path).map { refused($0) }
        }
        switch paths.find(method: method, path: path) {
        case .match: return nil
        case .none: return refused(Problem(404, "nothing is served under this path").answer)
        case .wrongMethod(let allowed):
            return refused(Problem.methodNotAllowed(allowed))
        }
    }

    private func refused(_ answer: HTTPServerAnswer) -> HTTPServerAnswer {
        context.metrics.request(instance: "", status: answer.status)
        return answer
    }

    func answer(
        _ request: HTTPServerRequest, done: @escaping @Sendable (HTTPServerAnswer) -> Void
    ) {
        let metrics = context.metrics
        if DevicesService.serves(request.path) {
            let devices = devices
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
        let given = inbound
        let isTaken = context.workers.submit {
            self.hand(given, to: match.owner) { answer, instance in
                metrics.request(instance: instance, status: answer.status)
                done(answer)
            }
        }
        if !isTaken {
            let answer = Problem.busy("too many requests are waiting")
            metrics.request(instance: match.owner.instanceName, status: answer.status)
            done(answer)
        }
    }

    /// Hands a request to an instance, on a worker.
    private func hand(
        _ request: IngestRequest, to role: any Ingesting,
        done: @escaping @Sendable (HTTPServerAnswer, _ instance: String) -> Void
    ) {
        let box = ReplyBox()
        role.handle(request) { result in
            let isLate = box.reply.withLock { reply -> Bool in
                if case .returned = reply { return true }
                reply = .said(result)
                return false
            }
            guard isLate else { return }
            // The plugin answered later, on a thread of its own; builders are called on our threads.
            self.context.workers.submitBounded {
                self.conclude(result, of: request, by: role, done: done)
            }
        }
        let said = box.reply.withLock { reply -> IngestResult? in
            defer { reply = .returned }
            if case .said(let result) = reply { return result }
            return nil
        }
        if let said { conclude(said, of: request, by: role, done: done) }
    }

    private func conclude(
        _ result: IngestResult, of request: IngestRequest, by role: any Ingesting,
        done: @escaping @Sendable (HTTPServerAnswer, _ instance: String) -> Void
    ) {
        let name = role.instanceName
        guard result.fault?.kind == .stopping else {
            settle(result, name, request.receivedUnixMs) { done($0, name) }
            return
        }
        guard case .match(let match) = paths.find(method: request.method, path: request.path),
            match.owner !== role
        else {
            done(Problem.busy("the gateway is stopping"), name)
            return
        }
        // It was just replaced and has not looked at the request: its successor gets it.
        hand(request, to: match.owner, done: done)
    }

    /// Commits the events and changes of a request; the answer comes when they are on disk.
    private func settle(
        _ result: IngestResult, _ instance: String, _ receivedUnixMs: UInt64,
        done: @escaping @Sendable (HTTPServerAnswer) -> Void
    ) {
        for reject in result.rejects {
            context.metrics.rejected(instance: instance, reason: reject.reason)
            context.logger.warning(
                "item rejected",
                metadata: [
                    "plugin.instance": "\(instance)", "reason": "\(reject.reason)",
                    "detail": "\(reject.detail)",
                ])
        }
        if let fault = result.fault {
            done(answer(to: fault, result.answer, instance: instance))
            return
        }
        guard !result.events.isEmpty || !result.changes.isEmpty else {
            done(Self.success(result))
            return
        }
        pipeline.accept(
            result.events, changes: result.changes, from: instance, receivedUnixMs: receivedUnixMs
        ) { answer in
            switch answer {
            case .committed: done(Self.success(result))
            case .full, .diskFull: done(Problem.busy(answer.words))
            case .failed: done(Problem.busy("the event could not be stored, send it again"))
            }
        }
    }

    private static func success(_ result: IngestResult) -> HTTPServerAnswer {
        if let answer = result.answer {
            return HTTPServerAnswer(
                status: Int(answer.status), headers: answer.headers, body: answer.body)
        }
        return HTTPServerAnswer(
            status: result.events.isEmpty && result.changes.isEmpty ? 202 : 200)
    }

    private func answer(
        to fault: PluginFault, _ own: IngestResult.Answer?, instance: String
    ) -> HTTPServerAnswer {
        context.logger.warning(
            "request refused",
            metadata: [
                "plugin.instance": "\(instance)", "reason": "\(fault.kind)",
                "error": "\(fault.message)",
            ])
        if let own {
            return HTTPServerAnswer(status: Int(own.status), headers: own.headers, body: own.body)
        }
        switch fault.kind {
        case .invalid: return Problem(400, fault.message).answer
        case .auth: return Problem(401, fault.message).answer
        case .notFound: return Problem(404, fault.message).answer
        case .tooLarge: return Problem(413, fault.message).answer
        case .again, .stopping, .timeout: return Problem.busy(fault.message)
        default: return Problem(500, "the plugin could not handle this request").answer
        }
    }
}

/// An answer that a role gives during the call is read when the call returns: on the same worker, without another
/// hand-over.
private final class ReplyBox: Sendable {
    enum Reply {
        case asked
        case said(IngestResult)
        case returned
    }

    let reply = Mutex(Reply.asked)
}
