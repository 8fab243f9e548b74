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
    private let devices: Mutex<DevicesService>

    init(
        context: DispatchContext, pipeline: EventPipeline, devices: DevicesService
    ) {
        self.devices = Mutex(devices)
        self.context = context
        self.pipeline = pipeline
    }

    /// The configuration has changed.
    func replace(devices new: DevicesService) { devices.withLock { $0 = new } }

    private var paths: PathTable<any Ingesting> { context.live.now.instances.paths }

    func refusal(method: String, path: String) -> HTTPServerAnswer? {
        if DevicesService.serves(path) {
            return devices.withLock { $0 }.refusal(method: method, path: path).map { refused($0) }
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

    func answer(_ request: HTTPServerRequest) async -> HTTPServerAnswer {
        if DevicesService.serves(request.path) {
            let answer = await devices.withLock { $0 }.answer(request)
            context.metrics.request(instance: "devices", status: answer.status)
            return answer
        }
        guard case .match(let match) = paths.find(method: request.method, path: request.path) else {
            return Problem(404, "nothing is served under this path").answer
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
        let (answer, name) = await answer(given, by: match.owner)
        context.metrics.request(instance: name, status: answer.status)
        return answer
    }

    private func answer(
        _ request: IngestRequest, by first: any Ingesting
    ) async -> (HTTPServerAnswer, instance: String) {
        var role = first
        while true {
            if let answer = await handled(request, by: role) { return (answer, role.instanceName) }
            guard case .match(let match) = paths.find(method: request.method, path: request.path),
                match.owner !== role
            else { return (Problem.busy("the gateway is stopping"), role.instanceName) }
            // It was replaced in this moment: the request is its successor's.
            role = match.owner
        }
    }

    /// The answer to a request; nil: the instance is stopping and has not looked at it.
    private func handled(
        _ request: IngestRequest, by role: any Ingesting
    ) async -> HTTPServerAnswer? {
        let name = role.instanceName
        return await withCheckedContinuation { continuation in
            let isTaken = context.workers.submit {
                role.handle(request) { result in
                    if result.fault?.kind == .stopping {
                        continuation.resume(returning: nil)
                        return
                    }
                    self.settle(result, name, request.receivedUnixMs) {
                        continuation.resume(returning: $0)
                    }
                }
            }
            if !isTaken {
                continuation.resume(returning: Problem.busy("too many requests are waiting"))
            }
        }
    }

    /// Commits what a plugin made of a request; the answer comes when it is on disk.
    private func settle(
        _ result: IngestResult, _ instance: String, _ receivedUnixMs: UInt64,
        done: @escaping @Sendable (HTTPServerAnswer) -> Void
    ) {
        for reject in result.rejects {
            context.metrics.rejected(instance: instance, reason: reject.reason)
            context.logger.warning(
                "item left out",
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
        // A deferred request ends on a thread of its plugin; builders are called on ours.
        context.workers.submitBounded {
            self.pipeline.accept(
                result.events, changes: result.changes, from: instance,
                receivedUnixMs: receivedUnixMs
            ) { answer in
                switch answer {
                case .committed: done(Self.success(result))
                case .full: done(Problem.busy("too many deliveries are waiting"))
                case .failed: done(Problem.busy("the request could not be written down"))
                }
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
