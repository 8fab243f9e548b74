internal import SignalboxConfig
public import SignalboxCore
internal import SignalboxJSON
internal import SignalboxPluginHost
internal import SignalboxThreads

/// Why the gateway did not accept an event of its program.
public struct SubmitError: Error, Sendable, CustomStringConvertible {
    /// What kind of fault.
    public enum Kind: Sendable {
        /// An unknown source, or an event that is malformed.
        case invalid
        /// Over a limit of docs/limits.md.
        case tooLarge
        /// Too many deliveries wait; try again later.
        case again
        /// The disk failed; nothing was kept.
        case unreachable
        /// The gateway drains or has stopped.
        case stopping
    }

    /// What kind of fault.
    public let kind: Kind
    /// The message for people.
    public let message: String

    /// The message.
    public var description: String { message }
}

/// An event that is on disk.
public struct SubmittedEvent: Sendable, Hashable {
    /// The id, which outcomes name; 0: a duplicate that was left out.
    public let id: UInt64
    /// Its dedupe key was seen before.
    public var isDuplicate: Bool { id == 0 }
}

extension Gateway {
    /// Takes events of a source that is named in `gateway.sources`: all are on disk when this returns,
    /// or none.
    public func submit(
        _ events: [Event], from source: String
    ) async throws(SubmitError) -> [SubmittedEvent] {
        let result = await withCheckedContinuation { continuation in
            do throws(SubmitError) {
                try submit(events, from: source) { continuation.resume(returning: $0) }
            } catch {
                continuation.resume(returning: .failure(error))
            }
        }
        return try result.get()
    }

    /// The same without suspending: `done` is called once on a thread of the gateway, unless this throws.
    public func submit(
        _ events: [Event], from source: String,
        done: @escaping @Sendable (Result<[SubmittedEvent], SubmitError>) -> Void
    ) throws(SubmitError) {
        guard isTaking else {
            throw SubmitError(kind: .stopping, message: "the gateway is stopping")
        }
        let (context, pipeline) = (engine.context, engine.pipeline)
        guard context.live.now.plan.config.gateway.sources.contains(source) else {
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
            guard let id = pipeline.nextEventID() else {
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
        let isAccepted = context.workers.submit {
            pipeline.accept(given, from: source, receivedUnixMs: now) { answer in
                done(Self.result(answer, given))
            }
        }
        guard isAccepted else {
            throw SubmitError(kind: .again, message: "too many requests are waiting")
        }
    }

    private static func result(
        _ answer: StoreAnswer, _ events: [Event]
    ) -> Result<[SubmittedEvent], SubmitError> {
        switch answer {
        case .committed(let commit):
            .success(
                events.enumerated().map { index, event in
                    SubmittedEvent(id: commit.duplicates.contains(index) ? 0 : event.id)
                })
        case .full, .diskFull: .failure(SubmitError(kind: .again, message: answer.words))
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
        for (place, recipient) in event.recipients.enumerated()
        where recipient.device.token.isEmpty && recipient.device.user.isEmpty {
            throw fault("recipient \(place) has neither token nor user")
        }
        guard event.data != "{}" else { return }
        let parsed = try? JSONDocument.parse(event.data)
        guard let parsed, JSONParser.kind(of: parsed.root) == .object else {
            throw fault("data is not a JSON object")
        }
        event.parsed = parsed
    }
}
