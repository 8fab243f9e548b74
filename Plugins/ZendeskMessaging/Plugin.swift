public import CSignalbox
import SignalboxPluginKit

/// Webhooks of Zendesk messaging (the Conversations API, Sunshine Conversations v2): turns a message of the business
/// into a push to the users of its conversation.
final class ZendeskMessaging: IngestPlugin, BuildPlugin {
    static let info = PluginInfo(
        id: "io.signalbox.zendesk-messaging", version: "1.0.0",
        summary: "Zendesk messaging webhooks in; an agent's messages as pushes out",
        configSchema: Config.schema)

    let host: Host
    let config: Config
    let participants = Participants()
    private let counters: [String: Counter]
    private let other: Counter

    /// Documented events; everything else counts as `other`.
    private static let types = [
        "conversation:message", "conversation:create", "conversation:join", "conversation:leave",
        "conversation:remove", "conversation:postback", "conversation:read", "conversation:typing",
        "conversation:message:delivery:channel", "conversation:message:delivery:user",
        "conversation:message:delivery:failure", "user:merge",
    ]

    init(host: Host, config: JSON) throws(PluginError) {
        self.host = host
        self.config = try Config(Keys(config))
        func events(_ type: String) -> Counter { host.counter("events_total", [("type", type)]) }
        counters = Dictionary(uniqueKeysWithValues: Self.types.map { ($0, events($0)) })
        other = events("other")
    }

    var paths: [IngestPath] { [IngestPath(config.path)] }

    func handle(_ request: borrowing Request, _ sink: borrowing IngestSink) throws(PluginError) {
        if !config.webhookSecret.isEmpty {
            let given = request.header("x-api-key") ?? ""
            guard try host.secretEquals(config.webhookSecret, given) else {
                throw Fault.secret.error
            }
        }
        let webhook = try Webhook(try host.parse(bodyOf: request))
        guard config.appID.isEmpty || webhook.appID == config.appID else {
            sink.reject(Reject.otherApp.rawValue, Reject.otherApp.detail)
            try sink.respond(200)
            return
        }
        var waiting: [Message] = []
        for event in webhook.events {
            do throws(Reject) {
                guard let message = try message(event, webhook.appID) else { continue }
                waiting.append(message)
            } catch {
                sink.reject(error.rawValue, error.detail)
            }
        }
        guard !waiting.isEmpty else {
            try sink.respond(200)
            return
        }
        let secret = try host.secret(config.api.keySecret)
        let open = try sink.deferred(timeoutMs: ParticipantsFetch.timeoutMs)
        ParticipantsFetch(self, waiting, secret: secret, open).next()
    }

    /// The message of an event; nil if it gives no push.
    private func message(_ event: JSON, _ appID: String) throws(Reject) -> Message? {
        guard let type = event["type"]?.string else { throw .malformedEvent }
        (counters[type] ?? other).add()
        return type == "conversation:message" ? try Message(event, appID: appID) : nil
    }
}

extension ZendeskMessaging {
    /// Emits a message whose users are known; false if they must be fetched.
    func takes(_ message: Message, _ open: DeferredIngest) throws(PluginError) -> Bool {
        if let user = message.user, !id(of: user).isEmpty {
            try emit(message, [user], open)
            return true
        }
        guard let users = participants.users(message.key, nowUnixMs: host.nowUnixMs) else {
            return false
        }
        try emit(message, users, open)
        return true
    }

    /// Emits a message to these users.
    func emit(
        _ message: Message, _ users: [Participant], _ open: DeferredIngest
    ) throws(PluginError) {
        let ids = users.map { id(of: $0) }.filter { !$0.isEmpty }
        guard !ids.isEmpty else {
            open.reject(.noUser)
            return
        }
        try open.emit(message.event(for: ids, app: config.app))
    }

    /// Whether one of them has the id that pushes need.
    func isKnown(_ users: [Participant]) -> Bool { users.contains { !id(of: $0).isEmpty } }

    private func id(of user: Participant) -> String {
        config.takesExternalID ? user.externalID : user.id
    }
}

/// The library's entry point.
@c @implementation
public func sbx_plugin_entry_v1(
    _ host: UnsafePointer<sbx_host>?, _ error: UnsafeMutablePointer<sbx_error>?
) -> UnsafePointer<sbx_plugin>? { unsafe pluginEntry(ZendeskMessaging.self) }
