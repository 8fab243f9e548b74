internal import SignalboxCore
internal import SignalboxDispatch
internal import SignalboxHTTP
internal import SignalboxObservability
internal import SignalboxPluginHost
internal import SignalboxThreads
internal import Synchronization

/// Sends through REST clients: to systems without HTTP/2, and to origins that requests name.
final class RESTTransport: LaneTransport {
    /// The clients it uses.
    struct Clients: Sendable {
        /// For the endpoint's own origin, and for origins that may be private.
        let own: RESTClient
        /// For origins that come from data.
        let public_: RESTClient
    }

    private struct Waiting {
        let batch: RequestBatch
        let index: Int
        /// Empty for the endpoint's own.
        let origin: String
    }

    private struct State {
        var endpoint: SendEndpoint
        var queue = OriginQueue<Waiting>()
        var isStopping = false
        /// Why the last request could not reach the endpoint's origin; empty if it could.
        var failure = ""
    }

    /// An origin that takes longer to answer is slow.
    private static let slowNs: UInt64 = 2_000_000_000
    /// Most requests in progress, unless the endpoint says otherwise.
    private static let runningMax = 32

    private let clients: Clients
    /// The sender, which has its own limit of calls.
    private let owner: String
    private let proxies: ProxyRules
    /// Latency from request to answer.
    private let answers: Histogram
    private let maySend: @Sendable () -> Bool
    private let onResults: @Sendable ([PushResult]) -> Void
    private let state: Mutex<State>

    init(
        _ clients: Clients, owner: String, proxies: ProxyRules, endpoint: SendEndpoint,
        answers: Histogram,
        maySend: @escaping @Sendable () -> Bool = { true },
        onResults: @escaping @Sendable ([PushResult]) -> Void
    ) {
        self.clients = clients
        self.owner = owner
        self.proxies = proxies
        self.answers = answers
        self.maySend = maySend
        self.onResults = onResults
        state = Mutex(State(endpoint: endpoint))
    }

    var takesOrigins: Bool { true }

    func submit(_ batch: RequestBatch) {
        state.withLock { state in
            for index in batch.requests.indices {
                let origin = batch.text(batch.requests[index].origin)
                state.queue.add(Waiting(batch: batch, index: index, origin: origin), to: origin)
            }
        }
        work()
    }

    /// Begins as many requests as there is room for. Called after each end, so no request waits without one running.
    private func work() {
        while true {
            let isHeld = maySend()
            let next = state.withLock { state -> (Waiting, SendEndpoint)? in
                guard isHeld, !state.isStopping else { return nil }
                let most = state.endpoint.connectionsMax
                return state.queue.next(room: most > 0 ? most : Self.runningMax)
                    .map { ($0, state.endpoint) }
            }
            guard let (waiting, endpoint) = next else { break }
            begin(waiting, endpoint)
        }
        if !maySend() { giveBack(.withdrawn) }
        let excess = state.withLock { $0.queue.takeExcess() }
        guard !excess.isEmpty else { return }
        onResults(
            excess.map { waiting in
                PushResult(
                    items: waiting.batch.items(of: waiting.index),
                    fault: .originUnreachable,
                    detail: "its origin is slow, and others wait for it already")
            })
    }

    private func begin(_ waiting: Waiting, _ endpoint: SendEndpoint) {
        let isElsewhere = !waiting.origin.isEmpty
        let client =
            isElsewhere && !endpoint.allowsPrivateOrigins ? clients.public_ : clients.own
        let sentNs = SystemClock.monotonicNs
        do throws(RESTFault) {
            if isElsewhere {
                try OriginName.check(
                    waiting.origin, isPublic: !endpoint.allowsPrivateOrigins)
            }
            try client.submit(call(waiting, endpoint)) { [self] result in
                let tookNs = SystemClock.monotonicNs - sentNs
                if case .success = result { answers.observe(ns: tookNs) }
                ended(waiting, result, isElsewhere, isLate: tookNs > Self.slowNs)
                work()
            }
        } catch {
            // Does not call `work`: the loop that called this begins the next one.
            ended(waiting, .failure(error), isElsewhere, isLate: false)
        }
    }

    private func ended(
        _ waiting: Waiting, _ result: Result<RESTAnswer, RESTFault>, _ isElsewhere: Bool,
        isLate: Bool
    ) {
        state.withLock { state in
            let isSlow = if case .failure = result { true } else { isLate }
            state.queue.ended(at: waiting.origin, isSlow: isSlow)
            guard !isElsewhere else { return }
            if case .failure(let fault) = result {
                if fault.kind == .unreachable { state.failure = fault.message }
            } else {
                state.failure = ""
            }
        }
        onResults([Self.result(waiting, result, isElsewhere)])
    }

    func leave(connection: UInt64) {}

    func withdraw() { giveBack(.withdrawn) }

    private func giveBack(_ fault: TransportFault) {
        let back = state.withLock { $0.queue.takeAll() }
        guard !back.isEmpty else { return }
        onResults(
            back.map { PushResult(items: $0.batch.items(of: $0.index), fault: fault) })
    }

    func renew(_ endpoint: SendEndpoint) { state.withLock { $0.endpoint = endpoint } }

    func connections() async -> LaneConnections {
        state.withLock { state in
            var connections = LaneConnections()
            connections.readyCount = state.queue.running
            connections.failure = state.failure
            connections.proxy =
                RESTClient.proxy(state.endpoint.origin, proxies).map { "\($0)" } ?? ""
            return connections
        }
    }

    /// Running requests end by their own time-outs.
    func shutdown(deadlineMs: Int) async {
        state.withLock { $0.isStopping = true }
        giveBack(.stopping)
    }

    private func call(_ waiting: Waiting, _ endpoint: SendEndpoint) -> RESTCall {
        let (batch, request) = (waiting.batch, waiting.batch.requests[waiting.index])
        var origin = waiting.origin.isEmpty ? endpoint.origin : waiting.origin
        if origin.hasSuffix("/") { origin.removeLast() }
        let headers = batch.headers[
            Int(request.headers.lowerBound)..<Int(request.headers.upperBound)]
        var call = RESTCall(
            method: batch.text(request.method), url: origin + batch.text(request.path),
            headers: headers.map { Attribute(batch.text($0.name), batch.text($0.value)) },
            body: Array(batch[request.body]))
        call.owner = owner
        call.proxies = proxies
        call.caFile = endpoint.caFile
        // An overlong body, which nobody reads, must not fail the call: a retry would push twice.
        call.cutsBody = true
        if endpoint.requestTimeoutMs > 0 { call.timeoutMs = UInt32(endpoint.requestTimeoutMs) }
        return call
    }

    private static func result(
        _ waiting: Waiting, _ result: Result<RESTAnswer, RESTFault>, _ isElsewhere: Bool
    ) -> PushResult {
        let items = waiting.batch.items(of: waiting.index)
        switch result {
        case .success(let answer):
            let request = waiting.batch.requests[waiting.index]
            let response = HTTPResponse(
                status: answer.status, headers: answer.headers, body: answer.body, items: items,
                context: Array(waiting.batch[request.context]),
                trailerCount: answer.trailerCount, shortened: request.shortened)
            return PushResult(response, origin: waiting.origin)
        case .failure(let fault):
            let kind: TransportFault =
                switch fault.kind {
                case .timeout: isElsewhere ? .originLost : .timeout
                case .lost, .tooLarge: isElsewhere ? .originLost : .lost
                case .stopping: .stopping
                case .full: .timeoutUnsent
                case .privateAddress: .originPrivate
                case .invalid: isElsewhere ? .originInvalid : .unreachable
                case .unreachable: isElsewhere ? .originUnreachable : .unreachable
                }
            return PushResult(
                items: items, fault: kind, detail: fault.message, origin: waiting.origin)
        }
    }
}

extension RequestBatch {
    /// The items of a request.
    fileprivate func items(of index: Int) -> [UInt64] {
        let range = requests[index].items
        return Array(items[Int(range.lowerBound)..<Int(range.upperBound)])
    }
}
