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
        let call = IngestCall(inbound, done)
        let isTaken = context.workers.submit { self.hand(call, to: match.owner) }
        if !isTaken {
            finish(call, Problem.busy("too many requests are waiting"), match.owner.instanceName)
        }
    }

    private func finish(_ call: IngestCall, _ answer: HTTPServerAnswer, _ instance: String) {
        context.metrics.request(instance: instance, status: answer.status)
        call.done(answer)
    }

    /// Hands a request to an instance, on a worker.
    private func hand(_ call: IngestCall, to role: any Ingesting) {
        call.begin()
        role.handle(call.request) { result in
            guard call.isLate(result) else { return }
            // The plugin answered later, on a thread of its own; builders are called on our threads.
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
        // It was just replaced and has not looked at the request: its successor gets it.
        hand(call, to: match.owner)
    }

    /// Commits the events and changes of a request; the answer comes when they are on disk.
    private func settle(_ result: IngestResult, of call: IngestCall, _ instance: String) {
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
            finish(call, answer(to: fault, result.answer, instance: instance), instance)
            return
        }
        guard !result.events.isEmpty || !result.changes.isEmpty else {
            finish(call, Self.success(result), instance)
            return
        }
        pipeline.accept(
            result.events, changes: result.changes, from: instance,
            receivedUnixMs: call.request.receivedUnixMs
        ) { answer in
            switch answer {
            case .committed: self.finish(call, Self.success(result), instance)
            case .full, .diskFull: self.finish(call, Problem.busy(answer.words), instance)
            case .failed:
                let words = "the event could not be stored, send it again"
                self.finish(call, Problem.busy(words), instance)
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

/// A request on its way through an instance, and whom to answer.
///
/// An answer that a role gives during the call is read when the call returns: on the same worker, without another
/// hand-over.
private final class IngestCall: Sendable {
    private enum Reply {
        case asked
        case said(IngestResult)
        case returned
    }

    let request: IngestRequest
    let done: @Sendable (HTTPServerAnswer) -> Void
    private let reply = Mutex(Reply.asked)

    init(_ request: IngestRequest, _ done: @escaping @Sendable (HTTPServerAnswer) -> Void) {
        self.request = request
        self.done = done
    }

    /// A role is asked; one that was asked before has given its only result.
    func begin() { reply.withLock { $0 = .asked } }

    /// The role's result. Whether the call has returned before.
    func isLate(_ result: IngestResult) -> Bool {
        reply.withLock { reply in
            if case .returned = reply { return true }
            reply = .said(result)
            return false
        }
    }

    /// The call has returned. The result that the role has given during it.
    func returned() -> IngestResult? {
        reply.withLock { reply in
            defer { reply = .returned }
            if case .said(let result) = reply { return result }
            return nil
        }
    }
}
