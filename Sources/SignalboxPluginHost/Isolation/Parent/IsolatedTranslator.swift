internal import SignalboxCore
internal import SignalboxThreads
internal import Synchronization

/// The send-http or register role of an isolated instance.
final class IsolatedTranslator: Translating {
    private let instance: IsolatedInstance
    private let role: TranslatorRole
    private let usualBatch: Int?
    private let poison = Mutex(PoisonTracker())
    /// Apps whose requests must not go out twice.
    private let onceOnly = Mutex<Set<String>>([])

    init(_ instance: IsolatedInstance, _ role: TranslatorRole, maxBatch: Int?) {
        self.instance = instance
        self.role = role
        usualBatch = maxBatch
    }

    private var nowMs: UInt64 { SystemClock.monotonicNs / 1_000_000 }

    /// Most items per call; 1 after a crash, until the item that caused it is known.
    var maxBatch: Int? { poison.withLock { $0.isOn(nowMs: nowMs) } ? 1 : usualBatch }

    /// Where requests of an app go.
    func endpoint(app: String) async throws(PluginFault) -> SendEndpoint {
        let asked = await SystemThread.value { [self] in askEndpoint(app) }
        let endpoint = try asked.get()
        onceOnly.withLock { apps in
            if endpoint.isAtMostOnce { apps.insert(app) } else { apps.remove(app) }
        }
        return endpoint
    }

    private func askEndpoint(_ app: String) -> Result<SendEndpoint, PluginFault> {
        let deadline = SystemClock.monotonicNs + instance.options.controlMs * 1_000_000
        while true {
            let asked: Result<WireResult<SendEndpoint>, WorkEnd> = instance.ask(.endpoint) {
                $0.put(EndpointMessage(role: role, app: app))
            }
            switch asked {
            case .success(let answer): return answer.result
            case .failure(let end):
                // The caller cannot retry, so it waits here.
                if case .stopping = end { return .failure(end.fault(instance.name)) }
                guard instance.waitUntilUp(deadlineNs: deadline) else {
                    return .failure(WorkEnd.down.fault(instance.name))
                }
            }
        }
    }

    // MARK: Rendering

    /// Renders deliveries of one app.
    func prepare(app: String, deliveries: [Delivery]) -> PrepareResult {
        instance.waiting(role == .register ? PluginCalls.report : PluginCalls.prepare) {
            render(app, deliveries)
        }
    }

    private func render(_ app: String, _ deliveries: [Delivery]) -> PrepareResult {
        let items = deliveries.map(\.id)
        let asked: Result<PrepareResult, WorkEnd> = instance.ask(
            .prepare,
            { $0.put(PrepareMessage(role: role, app: app, batch: WireDeliveries(deliveries))) },
            check: { answer throws(WireFault) in
                guard case .ready(let requests, let settled) = answer else { return }
                try RequestRules.check(requests, settled, of: items)
            })
        switch asked {
        case .success(.failed(let fault)) where fault.kind == .tooLarge:
            return split(app, deliveries)
        case .success(let answer):
            poison.withLock { $0.cleared(items) }
            return answer
        case .failure(.down): return .again(isRestarting: true)
        case .failure(.tooLong): return split(app, deliveries)
        case .failure(.lost(let isAlone)):
            guard poison.withLock({ $0.crashed(items, isAlone: isAlone, nowMs: nowMs) }) else {
                return .failed(PluginFault(.lost, "the plugin's process ended"))
            }
            return .ready(
                RequestBatch(), settled: items.map { LostCall.outcome($0, isProven: true) })
        case .failure(let end): return .failed(end.fault(instance.name))
        }
    }

    /// Renders a batch in halves, until each part fits a message.
    private func split(_ app: String, _ deliveries: [Delivery]) -> PrepareResult {
        guard deliveries.count > 1 else {
            return .ready(
                RequestBatch(),
                settled: deliveries.map {
                    Outcome(item: $0.id, kind: .rejected, reason: "too_large")
                })
        }
        var requests = RequestBatch()
        var settled: [Outcome] = []
        let half = deliveries.count / 2
        for part in [Array(deliveries[..<half]), Array(deliveries[half...])] {
            if case .ready(let made, let outcomes) = render(app, part),
                Self.fit(requests, made)
            {
                requests.append(contentsOf: made)
                settled += outcomes
            } else {
                settled += part.map { LostCall.outcome($0.id, isProven: false) }
            }
        }
        return .ready(requests, settled: settled)
    }

    /// Whether two batches may be merged. A process that renders too much must not fill the gateway's memory.
    private static func fit(_ one: RequestBatch, _ other: RequestBatch) -> Bool {
        one.bytes.count + other.bytes.count <= 8 * Wire.bytesMax
    }

    // MARK: Reading

    /// Turns responses into outcomes. After a crash each response is read separately, once the process is
    /// up again: an answered request should not be sent twice.
    func classify(
        app: String, responses: [HTTPResponse]
    ) -> (settled: [Outcome], requests: RequestBatch) {
        instance.waiting(role == .register ? PluginCalls.reported : PluginCalls.classify) {
            read(app, responses)
        }
    }

    private func read(
        _ app: String, _ responses: [HTTPResponse]
    ) -> (settled: [Outcome], requests: RequestBatch) {
        switch ask(app, responses) {
        case .success(let made): return made
        case .failure(.stopping):
            return (unread(responses, app), RequestBatch())
        case .failure(let end):
            if case .lost(let isAlone) = end { _ = blame(responses, isAlone) }
            let deadline = SystemClock.monotonicNs + instance.options.patienceMs * 1_000_000
            var settled: [Outcome] = []
            var requests = RequestBatch()
            for response in responses {
                guard instance.waitUntilUp(deadlineNs: deadline) else {
                    settled += unread([response], app)
                    continue
                }
                switch ask(app, [response]) {
                case .success(let made) where Self.fit(requests, made.requests):
                    settled += made.settled
                    requests.append(contentsOf: made.requests)
                case .failure(.lost(let isAlone)):
                    settled +=
                        blame([response], isAlone)
                        ? response.items.map { LostCall.outcome($0, isProven: true) }
                        : unread([response], app)
                case .success, .failure: settled += unread([response], app)
                }
            }
            return (settled, requests)
        }
    }

    private func ask(
        _ app: String, _ responses: [HTTPResponse]
    ) -> Result<(settled: [Outcome], requests: RequestBatch), WorkEnd> {
        let items = responses.flatMap(\.items)
        let asked: Result<WireResult<ClassifiedMessage>, WorkEnd> = instance.ask(
            .classify,
            { $0.put(ClassifyMessage(role: role, app: app, responses: responses)) },
            check: { answer throws(WireFault) in
                guard case .success(let made) = answer.result else { return }
                try RequestRules.check(made.requests, made.settled, of: items)
            })
        return asked.flatMap { answer in
            guard case .success(let made) = answer.result else { return .failure(.tooLong) }
            poison.withLock { $0.cleared(items) }
            return .success((made.settled, made.requests))
        }
    }

    private func blame(_ responses: [HTTPResponse], _ isAlone: Bool) -> Bool {
        poison.withLock {
            $0.crashed(responses.flatMap(\.items), isAlone: isAlone, nowMs: nowMs)
        }
    }

    /// The outcomes when responses cannot be read: the same as if the answers had been lost.
    private func unread(_ responses: [HTTPResponse], _ app: String) -> [Outcome] {
        let kind: Outcome.Kind =
            onceOnly.withLock { $0.contains(app) } ? .rejected : .retry
        return responses.flatMap(\.items).map {
            Outcome(item: $0, kind: kind, reason: "plugin_failed")
        }
    }
}

/// The register role of an isolated instance.
final class IsolatedReporter: Reporting {
    private let translator: IsolatedTranslator
    private let kinds: UInt64

    init(_ translator: IsolatedTranslator, kinds: UInt64) {
        self.translator = translator
        self.kinds = kinds
    }

    var maxBatch: Int? { translator.maxBatch }

    func wants(_ kind: DeviceChange.Kind) -> Bool { kinds & (1 << kind.rawValue) != 0 }

    func endpoint(app: String) async throws(PluginFault) -> SendEndpoint {
        try await translator.endpoint(app: app)
    }

    func prepare(app: String, deliveries: [Delivery]) -> PrepareResult {
        translator.prepare(app: app, deliveries: deliveries)
    }

    func classify(
        app: String, responses: [HTTPResponse]
    ) -> (settled: [Outcome], requests: RequestBatch) {
        translator.classify(app: app, responses: responses)
    }
}
