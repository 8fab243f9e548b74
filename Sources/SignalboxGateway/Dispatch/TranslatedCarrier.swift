internal import SignalboxCore
internal import SignalboxDispatch
internal import SignalboxHTTP
internal import SignalboxPluginHost

/// A plugin that renders requests and reads answers, sent over the gateway's connections.
struct TranslatedCarrier: LaneCarrier {
    let app: String
    let instance: any HostedInstance
    let role: any Translating
    let transport: any LaneTransport
    let spans: ActiveSpans
    let traits: LaneTraits
    var batchMax: Int? { role.maxBatch }

    /// Pushes may be answered after their time-out. Reports about one device keep their order.
    init(
        app: String, instance: any HostedInstance, role: any Translating, endpoint: SendEndpoint,
        transport: any LaneTransport, carries kind: DeliveryKind, spans: ActiveSpans
    ) {
        self.app = app
        self.instance = instance
        self.role = role
        self.transport = transport
        self.spans = spans
        var traits = LaneTraits()
        traits.isAtMostOnce = endpoint.isAtMostOnce
        switch kind {
        // Half of the time-out on top.
        case .push: traits.lateAnswerMs = UInt64(max(0, endpoint.requestTimeoutMs)) / 2
        case .report: traits.keepsOrder = true
        }
        self.traits = traits
    }

    func offer(_ batch: [Delivery]) -> LaneOffer {
        switch role.prepare(app: app, deliveries: batch) {
        case .ready(let requests, _) where requests.namesOrigins && !transport.takesOrigins:
            return .failed(
                words: "a request names an origin, and the endpoint lacks SBX_ENDPOINT_REST",
                isCredential: false)
        case .ready(let requests, let settled):
            if !requests.requests.isEmpty {
                transport.submit(spans.isOn ? spans.marked(requests) : requests)
            }
            return .taken(settled: settled)
        case .again(let isRestarting): return isRestarting ? .held(from: 0) : .uncredentialed
        case .failed(let fault):
            // Not for reports, which must keep their order.
            if batch.count > 1, fault.kind != .auth, !traits.keepsOrder { return offerApart(batch) }
            return .failed(words: fault.message, isCredential: fault.kind == .auth)
        }
    }

    /// One by one, so that a delivery the plugin fails on does not affect the others.
    private func offerApart(_ batch: [Delivery]) -> LaneOffer {
        var settled: [Outcome] = []
        for delivery in batch {
            switch offer([delivery]) {
            case .taken(let own): settled += own
            case .failed(let words, let isCredential):
                settled.append(
                    LaneOffer.failure(of: delivery, words: words, isCredential: isCredential))
            case .held, .uncredentialed:
                settled.append(Outcome(item: delivery.id, kind: .retry, reason: "plugin_restarts"))
            }
        }
        return .taken(settled: settled)
    }

    func classify(_ responses: [HTTPResponse]) -> [Outcome] {
        let (settled, requests) = role.classify(app: app, responses: responses)
        if !requests.requests.isEmpty { transport.submit(requests) }
        return settled
    }

    func withdraw() { transport.withdraw() }
    func leave(connection: UInt64) { transport.leave(connection: connection) }
    func credentialRefused(_ name: String) { instance.credentialRefused(name) }
    func renew() async throws {
        let endpoint = try await role.endpoint(app: app)
        // Reports use REST whatever the endpoint says.
        guard traits.keepsOrder || endpoint.isREST == transport.takesOrigins else {
            throw PluginFault(.invalid, "SBX_ENDPOINT_REST cannot change while the gateway runs")
        }
        try transport.renew(endpoint)
    }
    func connections() async -> LaneConnections { await transport.connections() }
    func shutdown(deadlineMs: Int) async { await transport.shutdown(deadlineMs: deadlineMs) }
}

/// A plugin with a transport of its own.
struct OwnCarrier: LaneCarrier {
    let app: String
    let instance: any HostedInstance
    let role: any Sending
    let sink: LaneSink

    var batchMax: Int? { role.maxBatch }
    var traits: LaneTraits {
        var traits = LaneTraits()
        // The plugin limits its own load.
        traits.startsSlowly = false
        return traits
    }

    func offer(_ batch: [Delivery]) -> LaneOffer {
        let sink = sink
        switch role.submit(app: app, deliveries: batch, onOutcomes: { sink.learned($0) }) {
        case .success(batch.count): return .taken(settled: [])
        case .success(let taken): return .held(from: taken)
        case .failure(let fault):
            return .failed(words: fault.message, isCredential: fault.kind == .auth)
        }
    }

    func classify(_ responses: [HTTPResponse]) -> [Outcome] { [] }
    func withdraw() {}
    func leave(connection: UInt64) {}
    func credentialRefused(_ name: String) { instance.credentialRefused(name) }
    func renew() async throws {}
    func connections() async -> LaneConnections { LaneConnections() }
    func shutdown(deadlineMs: Int) async {}
}
