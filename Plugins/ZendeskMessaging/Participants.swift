import SignalboxPluginKit
import Synchronization

/// The participants of conversations: fetched from the Conversations API, and cached.
final class Participants: Sendable {
    /// Lifetime of a cache entry: users may log in or join.
    private static let keptMs: UInt64 = 10 * 60_000
    private static let conversationsMax = 10_000
    private let known = Mutex<[String: (users: [Participant], untilMs: UInt64)]>([:])

    func users(_ conversation: String, nowUnixMs: UInt64) -> [Participant]? {
        known.withLock { known in
            guard let entry = known[conversation], nowUnixMs < entry.untilMs else { return nil }
            return entry.users
        }
    }

    func keep(_ users: [Participant], _ conversation: String, nowUnixMs: UInt64) {
        known.withLock { known in
            if known.count >= Self.conversationsMax { known = [:] }
            known[conversation] = (users, nowUnixMs + Self.keptMs)
        }
    }

    /// The content of an answer.
    enum Answer {
        case users([Participant])
        case unknownConversation
        /// Unknown for now; it may be known later.
        case unavailable(String)
    }

    /// Most participants of a page; a conversation with the business has one user, rarely a few.
    private static let pageMax = 100

    /// `GET /v2/apps/{appId}/conversations/{conversationId}/participants`.
    static func call(_ message: Message, _ config: Config, secret: [UInt8]) -> HTTPCall {
        let (app, conversation) = (
            PathSegment.encode(message.appID), PathSegment.encode(message.conversationID)
        )
        var call = HTTPCall(
            "GET",
            "\(config.api.base)/v2/apps/\(app)/conversations/\(conversation)/participants"
                + "?page%5Bsize%5D=\(pageMax)")
        let login = Base64URL.encodePadded(Array("\(config.api.keyID):".utf8) + secret)
        call.headers = [("authorization", "Basic \(login)"), ("accept", "application/json")]
        call.caFile = config.api.caFile
        call.timeoutMs = 3_000
        return call
    }

    static func read(_ result: Result<HTTPAnswer, PluginError>, host: Host) -> Answer {
        let answer: HTTPAnswer
        switch result {
        case .failure(let error): return .unavailable(error.message)
        case .success(let given): answer = given
        }
        if answer.status == 404 { return .unknownConversation }
        guard answer.status == 200, let json = try? host.parse(answer.body.span),
            let list = json["participants"], list.kind == .array
        else { return .unavailable("it answered \(answer.status)") }
        return .users(list.elements.compactMap { Participant(participant: $0) })
    }
}

/// Fetches the users of messages before these can become events; the webhook request stays open meanwhile.
final class ParticipantsFetch: Sendable {
    /// How long a webhook request may stay open.
    static let timeoutMs: UInt32 = 12_000
    /// After this time nothing more is fetched, so that known events are stored in time.
    private static let askingMs: UInt64 = 8_000

    private let plugin: ZendeskMessaging
    private let secret: [UInt8]
    private let open: DeferredIngest
    private let deadlineMs: UInt64
    private let state: Mutex<(waiting: [Message], hasFailed: Bool)>

    init(
        _ plugin: ZendeskMessaging, _ messages: [Message], secret: [UInt8], _ open: DeferredIngest
    ) {
        self.plugin = plugin
        self.secret = secret
        self.open = open
        deadlineMs = plugin.host.nowUnixMs + Self.askingMs
        state = Mutex((messages.reversed(), false))
    }

    /// Handles the messages one after another; those of one conversation share one request.
    func next() {
        open.attempt { () throws(PluginError) in
            while let message = state.withLock({ $0.waiting.popLast() }) {
                if try plugin.takes(message, open) { continue }
                if state.withLock({ $0.hasFailed }) || plugin.host.nowUnixMs > deadlineMs {
                    failed()
                    continue
                }
                plugin.host.send(Participants.call(message, plugin.config, secret: secret)) {
                    self.answered(message, $0)
                }
                return
            }
            // Events that were emitted are stored anyway, and are duplicates when the webhook is retried.
            try open.respond(state.withLock { $0.hasFailed } ? 503 : 200)
            open.finish()
        }
    }

    private func answered(_ message: Message, _ result: Result<HTTPAnswer, PluginError>) {
        switch Participants.read(result, host: plugin.host) {
        case .users(let users):
            // A user without an id may be about to log in, so do not cache them.
            if plugin.isKnown(users) {
                plugin.participants.keep(users, message.key, nowUnixMs: plugin.host.nowUnixMs)
            }
            open.attempt { () throws(PluginError) in
                try plugin.emit(message, users, open)
            }
        case .unknownConversation: open.reject(.unknownConversation)
        case .unavailable(let words):
            plugin.host.write(
                .warn, "the Conversations API did not name the participants", [("error", words)])
            failed()
        }
        next()
    }

    /// Rejects a message; it is retried with its webhook.
    private func failed() {
        open.reject(.participantsUnavailable)
        state.withLock { $0.hasFailed = true }
    }
}

extension DeferredIngest {
    func reject(_ reject: Reject) { self.reject(reject.rawValue, reject.detail) }
}
