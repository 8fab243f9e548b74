public import CSignalbox
import SendbirdPush
import SignalboxPluginKit
import Synchronization

/// Sendbird Chat: turns webhooks into pushes with Sendbird's own payload, and forwards devices of the registry
/// to its Platform API.
final class Sendbird: IngestPlugin, BuildPlugin {
    static let info = PluginInfo(
        id: "io.signalbox.sendbird", version: "1.0.0",
        summary: "Sendbird Chat: webhooks in, its push payload out, device tokens forwarded",
        configSchema: Config.schema)

    static var optionsSchema: String? { Config.optionsSchema }

    /// Progress of a device change.
    enum Step: Sendable {
        case registering(user: String, type: String)
        case listing, removing
    }

    let host: Host
    let config: Config
    let counters: Counters
    let preferences = UserCache<Preference>()
    /// Whether a user's template hides the text.
    let templates = UserCache<Bool>()
    let deletions: Deletions
    let underWay = Mutex<[UInt64: Step]>([:])

    init(host: Host, config: JSON) throws(PluginError) {
        self.host = host
        self.config = try Config(Keys(config))
        counters = Counters(host)
        deletions = Deletions(host)
    }

    var paths: [IngestPath] { [IngestPath(config.path)] }

    func handle(_ request: borrowing Request, _ sink: borrowing IngestSink) throws(PluginError) {
        try verify(request)
        let json = try host.parse(bodyOf: request)
        let category = try Reader(root: json).text("category", required: true) ?? ""
        counters.count(category: category)
        if let app = try Reader(root: json).text("app_id"), app != config.appID {
            sink.reject(Reject.otherApp.rawValue, Reject.otherApp.detail)
            try sink.respond(200)
            return
        }
        switch category {
        case "group_channel:message_send", "group_channel:message_delete":
            try message(json, sink)
        case "group_channel:message_read": try messageRead(json, sink)
        default: try sink.respond(200)
        }
    }

    /// The signature covers the raw bytes, with any of the tokens; all are tried, in constant time.
    private func verify(_ request: borrowing Request) throws(PluginError) {
        guard let given = request.header("x-sendbird-signature").flatMap({ Hex.decode($0) }) else {
            throw Fault.signature.error
        }
        guard
            try host.verify(
                .hmacSHA256, anyOf: config.signers, data: request.bodyBytes, signature: given)
        else { throw Fault.signature.error }
    }

    /// Handles a message that was sent or deleted.
    private func message(
        _ json: JSON, _ sink: borrowing IngestSink
    ) throws(PluginError) {
        let message = try Message(json, host: host)
        guard let members = try members(json, message, sink) else {
            try sink.respond(200)
            return
        }
        let fetch = Fetch(
            self, message, members: members.known, isBot: json.at("/sender/is_bot")?.flag ?? false,
            token: try apiToken(), try sink.deferred(timeoutMs: Fetch.timeoutMs))
        fetch.begin(isWhole: members.isWhole)
    }

    /// The members that a webhook lists; unless `isWhole`, the others must be fetched. nil if nobody gets the message.
    private func members(
        _ json: JSON, _ message: Message, _ sink: borrowing IngestSink
    ) throws(PluginError) -> (known: [ChatMember], isWhole: Bool)? {
        guard let given = json["members"], given.kind == .array else {
            guard !message.isSilent else {
                counters.skipped[.silent]?.add()
                return nil
            }
            guard config.fetchesMembers else {
                let reject: Reject = message.isSuper ? .superGroup : .noMembers
                sink.reject(reject.rawValue, reject.detail)
                return nil
            }
            return ([], false)
        }
        var members: [ChatMember] = []
        for (index, entry) in given.elements.enumerated() {
            if let member = ChatMember(entry) {
                members.append(member)
            } else {
                sink.reject(
                    Reject.malformedMember.rawValue, "members.\(index).user_id must be text")
            }
        }
        return (members, true)
    }

    private func messageRead(_ json: JSON, _ sink: borrowing IngestSink) throws(PluginError) {
        let channel = try Reader(root: json).text("channel.channel_url") ?? ""
        var recipients: [Recipient] = []
        for (index, update) in (json["read_updates"]?.elements ?? []).enumerated() {
            guard let user = update["user_id"]?.string, !user.isEmpty else {
                sink.reject(
                    Reject.malformedUpdate.rawValue, "read_updates.\(index).user_id must be text")
                continue
            }
            guard let unread = update["total_unread_message_count"]?.number else { continue }
            // `badge` sets the gateway's own counter, for routes with `badge: count`.
            let count = String(unread)
            recipients.append(
                Recipient(
                    user: user, app: config.app, attributes: [("unread", count), ("badge", count)]))
        }
        if !recipients.isEmpty {
            var data = JSONWriter()
            data.object { out in
                for member in json.members where member.key != "members" {
                    out.key(member.key)
                    out.value(member.value)
                }
            }
            var event = Event(type: "message.read", data: data.text)
            event.subject = "channel/\(channel)"
            event.recipients = recipients
            try sink.emit(event)
        }
        try sink.respond(200)
    }

    /// Whether a member may get a message; counts the reason if not.
    func isChosen(_ member: ChatMember, _ message: Message) -> Bool {
        // A shown message is withdrawn even from members who have since turned pushes off.
        if message.isDeleted { return member.isJoined && !message.isSilent }
        guard let skip = member.skip(message, asksPreferences: config.fetchesPreferences) else {
            return true
        }
        counters.skipped[skip]?.add()
        return false
    }

    /// The event for these members; nil if the list is empty.
    func event(_ message: Message, _ members: [ChatMember]) -> Event? {
        guard !members.isEmpty else { return nil }
        var event = message.event(appID: config.appID)
        if message.isDeleted {
            event.recipients = members.map { Recipient(user: $0.id, app: config.app) }
            return event
        }
        event.recipients = members.map { member in
            member.recipient(
                app: config.app,
                isMentioned: message.mentionsChannel || message.mentioned.contains(member.id))
        }
        return event
    }

    func apiToken() throws(PluginError) -> String {
        try host.secretText("api_token")
    }
}

/// The instance's metrics.
struct Counters: Sendable {
    /// Documented categories; everything else counts as `other`.
    private static let categories = [
        "group_channel:message_send", "group_channel:message_read", "group_channel:message_update",
        "group_channel:message_delete", "group_channel:create", "group_channel:changed",
        "group_channel:remove", "group_channel:invite", "group_channel:join",
        "group_channel:decline_invite", "group_channel:leave", "open_channel:message_send",
        "open_channel:message_delete", "open_channel:create", "open_channel:remove",
        "open_channel:enter", "user:block", "user:unblock",
        "alert:user_message_rate_limit_exceeded",
    ]

    private let byCategory: [String: Counter]
    private let other: Counter
    let skipped: [Skip: Counter]
    let preferenceUnavailable: Counter
    let templateUnavailable: Counter
    let countUnavailable: Counter
    let atLimit: Counter

    init(_ host: Host) {
        func webhooks(_ category: String) -> Counter {
            host.counter("webhooks_total", [("category", category)])
        }
        byCategory = Dictionary(
            uniqueKeysWithValues: Self.categories.map { ($0, webhooks($0)) })
        other = webhooks("other")
        skipped = Dictionary(
            uniqueKeysWithValues: Skip.allCases.map {
                ($0, host.counter("members_skipped_total", [("reason", $0.rawValue)]))
            })
        preferenceUnavailable = host.counter("preferences_unavailable_total")
        templateUnavailable = host.counter("templates_unavailable_total")
        countUnavailable = host.counter("counts_unavailable_total")
        atLimit = host.counter("users_at_token_limit_total")
    }

    func count(category: String) { (byCategory[category] ?? other).add() }
}

/// The library's entry point.
@c @implementation
public func sbx_plugin_entry_v1(
    _ host: UnsafePointer<sbx_host>?, _ error: UnsafeMutablePointer<sbx_error>?
) -> UnsafePointer<sbx_plugin>? { unsafe pluginEntry(Sendbird.self) }
