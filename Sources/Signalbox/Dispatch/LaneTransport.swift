internal import SignalboxCore
internal import SignalboxDispatch
internal import SignalboxHTTP
internal import SignalboxObservability
internal import SignalboxPluginHost
internal import SignalboxThreads

/// What carries a lane's requests.
protocol LaneTransport: Sendable {
    func submit(_ batch: RequestBatch)
    func drain(connection: UInt64)
    /// Gives back what was not sent yet.
    func withdraw()
    /// The plugin's secrets have changed; this is its new endpoint.
    func renew(_ endpoint: SendEndpoint) throws
    func connections() async -> LaneConnections
    func shutdown(deadlineMs: Int) async
}

extension PushPool: LaneTransport {
    func renew(_ endpoint: SendEndpoint) throws { try renew(try endpoint.pushEndpoint()) }

    func connections() async -> LaneConnections {
        let status = await status()
        var connections = LaneConnections()
        connections.readyCount = status.ready
        connections.isFailing = status.isFailing
        return connections
    }
}

/// Sends over the REST client, since the systems of sources need not speak HTTP/2.
struct RESTTransport: LaneTransport {
    let client: RESTClient
    let endpoint: SendEndpoint
    /// From a request to its answer.
    let answers: Histogram
    let onResults: @Sendable ([PushResult]) -> Void

    func submit(_ batch: RequestBatch) {
        for request in batch.requests {
            let items = Array(
                batch.items[Int(request.items.lowerBound)..<Int(request.items.upperBound)])
            var origin = endpoint.origin
            if origin.hasSuffix("/") { origin.removeLast() }
            let headers = batch.headers[
                Int(request.headers.lowerBound)..<Int(request.headers.upperBound)]
            var call = RESTCall(
                method: batch.text(request.method), url: origin + batch.text(request.path),
                headers: headers.map { Attribute(batch.text($0.name), batch.text($0.value)) },
                body: Array(batch[request.body]))
            call.caFile = endpoint.caFile
            if endpoint.requestTimeoutMs > 0 { call.timeoutMs = UInt32(endpoint.requestTimeoutMs) }
            do throws(RESTFault) {
                let sentNs = SystemClock.monotonicNs
                try client.submit(call) { result in
                    if case .success = result {
                        answers.observe(ns: SystemClock.monotonicNs - sentNs)
                    }
                    onResults([Self.result(result, items)])
                }
            } catch {
                onResults([Self.result(.failure(error), items)])
            }
        }
    }

    func drain(connection: UInt64) {}
    func withdraw() {}
    func renew(_ endpoint: SendEndpoint) {}
    func connections() async -> LaneConnections { LaneConnections() }
    func shutdown(deadlineMs: Int) async {}

    private static func result(
        _ result: Result<RESTAnswer, RESTFault>, _ items: [UInt64]
    ) -> PushResult {
        switch result {
        case .success(let answer):
            let response = HTTPResponse(
                status: answer.status, headers: answer.headers, body: answer.body, items: items)
            return PushResult(items: items, answer: .response(response))
        case .failure(let fault):
            let kind: TransportFault =
                switch fault.kind {
                case .timeout: .timeout
                case .lost, .tooLarge: .lost
                case .stopping: .stopping
                case .full: .timeoutUnsent
                case .invalid, .unreachable: .unreachable
                }
            return PushResult(items: items, answer: .fault(kind))
        }
    }
}
