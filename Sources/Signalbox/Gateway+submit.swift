internal import SignalboxConfig
public import SignalboxCore
internal import SignalboxDispatch
internal import SignalboxGateway
internal import SignalboxJSON
internal import SignalboxPluginHost
internal import SignalboxThreads

extension Gateway {
    /// Submits events of a source named in `gateway.sources`: when this returns, all are on disk, or none. With
    /// `findsOriginals`, duplicates name the events they repeat, if the history finds them soon.
    public func submit(
        _ events: [Event], from source: String, findsOriginals: Bool = false
    ) async throws(SubmitError) -> [SubmittedEvent] {
        let result = await withCheckedContinuation { continuation in
            do throws(SubmitError) {
                try submit(events, from: source) { continuation.resume(returning: $0) }
            } catch {
                continuation.resume(returning: .failure(error))
            }
        }
        var events = try result.get()
        if findsOriginals { await findOriginals(of: &events) }
        return events
    }

    /// The same without suspending: `done` is called once on a thread of the gateway, unless this throws.
    public func submit(
        _ events: [Event], from source: String,
        done: @escaping @Sendable (Result<[SubmittedEvent], SubmitError>) -> Void
    ) throws(SubmitError) {
        guard isTaking else {
            throw Self.stopping
        }
        let (context, pipeline) = (engine.context, engine.pipeline)
        guard context.current.generation.plan.config.gateway.sources.contains(source) else {
            throw SubmitError(
                kind: .invalid,
                message: "\"\(source)\" is not in gateway.sources of the configuration")
        }
        let limits = context.limits
        guard events.count <= limits.eventsPerRequestMax else {
            throw SubmitError(
                kind: .tooLarge,
                message: "\(events.count) events; at most \(limits.eventsPerRequestMax) at once")
        }
        let now = context.clock()
        var taken: [Event] = []
        taken.reserveCapacity(events.count)
        for (index, event) in events.enumerated() {
            var event = event
            try Self.check(&event, index, limits)
            event.source = source
            guard let id = context.ids.nextID() else {
                throw SubmitError(kind: .again, message: "the store gives no ids")
            }
            event.id = id
            if event.timeUnixMs == 0 { event.timeUnixMs = now }
            taken.append(event)
        }
        guard !taken.isEmpty else {
            done(.success([]))
            return
        }
        let given = taken
        let isAccepted = context.workers.submit { [self] in
            pipeline.accept(given, from: source, receivedUnixMs: now) { [self] answer, events in
                let result = Self.result(answer, events)
                // While stopping, any failure is reported as such: the program resubmits to the next gateway.
                guard case .failure = result, !isTaking else { return done(result) }
                done(.failure(Self.stopping))
            }
        }
        guard isAccepted else {
            throw SubmitError(kind: .again, message: "too many requests are waiting")
        }
    }

    private static let stopping = SubmitError(
        kind: .stopping, message: "the gateway is stopping")

    private static func result(
        _ answer: StoreAnswer, _ events: [CommittedEvent]
    ) -> Result<[SubmittedEvent], SubmitError> {
        switch answer {
        case .committed(let commit):
            .success(
                events.enumerated().map { index, event in
                    SubmittedEvent(event, isDuplicate: commit.duplicates.contains(index))
                })
        case .full, .diskFull, .unavailable:
            .failure(SubmitError(kind: .again, message: answer.words))
        case .tooLarge(let words): .failure(SubmitError(kind: .tooLarge, message: words))
        case .unprocessable(let words): .failure(SubmitError(kind: .invalid, message: words))
        case .failed(let words):
            .failure(SubmitError(kind: .unreachable, message: words))
        }
    }

    private static func check(
        _ event: inout Event, _ index: Int, _ limits: Limits
    ) throws(SubmitError) {
        func fault(_ what: String) -> SubmitError {
            SubmitError(kind: .invalid, message: "event \(index): \(what)")
        }
        guard !event.type.isEmpty else { throw fault("it has no type") }
        guard event.recipients.count <= limits.devicesPerEventMax else {
            throw SubmitError(
                kind: .tooLarge,
                message: "event \(index): \(event.recipients.count) recipients; at most "
                    + "\(limits.devicesPerEventMax)")
        }
        // Unusable recipients are skipped, like those without a sender.
        let isForNobody = event.recipients.allSatisfy {
            $0.device.token.isEmpty && $0.device.user.isEmpty
        }
        if isForNobody, !event.recipients.isEmpty {
            throw fault("none of its recipients has a token or a user")
        }
        guard event.data != "{}" else { return }
        let parsed = try? JSONDocument.parse(event.data)
        guard let parsed, JSONParser.kind(of: parsed.root) == .object else {
            throw fault("data is not a JSON object")
        }
        event.parsed = parsed
    }
}
