internal import SignalboxCore
internal import SignalboxGateway
internal import SignalboxHTTP
internal import SignalboxOffline
internal import SignalboxPluginHost
internal import SignalboxThreads
internal import Synchronization

/// Sends one delivery without queue, retries and registry, and waits for the provider's answer.
struct DirectSender: Sendable {
    /// How it ended.
    struct Result: Sendable {
        var device: Device
        /// nil if no answer arrived.
        var outcome: Outcome?
        /// The provider's status; 0 without a response.
        var status: UInt32 = 0
        /// Why there is no outcome.
        var fault = ""
        var tookMs = 0.0
    }

    let runtime: GatewayRuntime
    let instances: InstanceSet

    func send(_ delivery: Delivery) async -> Result {
        let begin = SystemClock.monotonicNs
        var result = Result(device: delivery.device)
        do {
            guard let sender = instances.senders[delivery.sender] else {
                throw TrialFault(message: "\(delivery.sender) does not send")
            }
            if let role = sender.http {
                try await send(delivery, role, sender.proxies, &result)
            } else if let role = sender.own {
                try await send(delivery, role, &result)
            }
        } catch {
            result.fault = "\(error)"
        }
        result.tookMs = Double(SystemClock.monotonicNs - begin) / 1_000_000
        return result
    }

    private func send(
        _ delivery: Delivery, _ role: any Translating, _ proxies: ProxyRules,
        _ result: inout Result
    ) async throws {
        let app = delivery.device.app
        let endpoint = try await role.endpoint(app: app)
        let prepared = await SystemThread.value { role.prepare(app: app, deliveries: [delivery]) }
        var batch: RequestBatch
        switch prepared {
        case .again: throw TrialFault(message: "its credential is being fetched; try again")
        case .failed(let fault): throw fault
        case .ready(let requests, let settled):
            result.outcome = settled.last
            batch = requests
        }
        guard !batch.requests.isEmpty else { return }
        let trouble = Mutex("")
        let (answers, continuation) = AsyncStream.makeStream(of: PushResult.self)
        let pool = try runtime.pushes.makePool(
            endpoint: try endpoint.pushEndpoint(proxies),
            onResults: { for answer in $0 { continuation.yield(answer) } },
            onEvent: { event in
                if event.kind == .connectFailed { trouble.withLock { $0 = event.text } }
            }, maySend: { true })
        var waiting = batch.requests.count
        pool.submit(batch)
        // Each request has exactly one answer that is not late, after a few time-outs at the latest.
        for await answer in answers where !answer.isLate {
            waiting -= 1
            switch answer.answer {
            case .fault(let fault):
                let why = trouble.withLock { $0 }
                result.fault = "no answer (\(fault.rawValue))\(why.isEmpty ? "" : ": \(why)")"
            case .response(let response):
                result.status = response.status
                let responses = [response]
                let read = await SystemThread.value {
                    role.classify(app: app, responses: responses)
                }
                result.outcome = read.settled.last ?? result.outcome
                batch = read.requests
                waiting += batch.requests.count
                if !batch.requests.isEmpty { pool.submit(batch) }
            }
            if waiting <= 0 { break }
        }
        await pool.shutdown(deadlineMs: 500)
    }

    private func send(
        _ delivery: Delivery, _ role: any Sending, _ result: inout Result
    ) async throws {
        let (outcomes, continuation) = AsyncStream.makeStream(of: Outcome.self)
        let taken = await SystemThread.value {
            role.submit(app: delivery.device.app, deliveries: [delivery]) { outcomes in
                for outcome in outcomes { continuation.yield(outcome) }
                continuation.finish()
            }
        }
        guard try taken.get() == 1 else {
            throw TrialFault(message: "it takes nothing at the moment; try again")
        }
        for await outcome in outcomes { result.outcome = outcome }
    }
}

extension DirectSender.Result {
    var isDelivered: Bool { outcome?.kind == .delivered }

    var json: JSONValue {
        [
            "platform": .string(device.platform), "app": .string(device.app),
            "user": .string(device.user), "status": .integer(Int64(status)),
            "outcome": outcome.map { .string("\($0.kind)") } ?? .null,
            "reason": .string(outcome?.reason ?? ""), "detail": .string(outcome?.detail ?? ""),
            "provider_id": .string(outcome?.providerID ?? ""),
            "fault": fault.isEmpty ? .null : .string(fault),
            "took_ms": .number("\((tookMs * 10).rounded() / 10)"), "text": .string(text),
        ]
    }

    /// One line for people.
    private var text: String {
        let who = device.user.isEmpty ? device.platform : "\(device.platform) of \(device.user)"
        guard let outcome else { return "\(who): \(fault)" }
        let code = status == 0 ? "" : " (\(status))"
        let reason = outcome.reason.isEmpty ? "" : " \(outcome.reason)"
        let detail = outcome.detail.isEmpty ? "" : ": \(outcome.detail)"
        let took = "in \(Int(nearest: tookMs)) ms"
        switch outcome.kind {
        case .delivered:
            let id = outcome.providerID.isEmpty ? "" : ", id \(outcome.providerID)"
            return "\(who): accepted by the provider\(code) \(took)\(id)"
        case .unregistered:
            return
                "\(who): the token is dead\(code)\(reason)\(detail); it stays in the registry until a delivery finds it dead"
        case .retry, .throttled:
            return "\(who): not now\(code)\(reason)\(detail); a delivery would be tried again"
        case .auth: return "\(who): the provider refuses the credential\(code)\(reason)\(detail)"
        case .config: return "\(who): the sender's settings are wrong\(code)\(reason)\(detail)"
        case .rejected: return "\(who): rejected\(code)\(reason)\(detail)"
        }
    }
}
