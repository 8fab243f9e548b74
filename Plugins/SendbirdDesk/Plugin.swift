public import CSignalbox
import SendbirdPush
import SignalboxPluginKit

/// Sendbird Desk: turns messages of tickets into pushes for the customer, except those that only agents may
/// see.
///
/// They arrive through Desk's own webhooks, through Chat webhooks at a separate path, or as
/// `desk.message.sent` events of the Sendbird plugin, for which this plugin builds.
final class SendbirdDesk: IngestPlugin, BuildPlugin {
    static let info = PluginInfo(
        id: "io.signalbox.sendbird-desk", version: "1.0.0",
        summary:
            "Sendbird Desk: tickets' messages in, pushes for customers out, agents' messages kept",
        configSchema: Config.schema)

    static var optionsSchema: String? { Config.optionsSchema }

    let host: Host
    let config: Config
    private let webhooks: Counter
    private let hidden: [String: Counter]
    private let deletions: Deletions

    init(host: Host, config: JSON) throws(PluginError) {
        self.host = host
        self.config = try Config(Keys(config))
        deletions = Deletions(host)
        webhooks = host.counter("webhooks_total")
        let reasons = [
            "system_message", "url_preview", "answered", "undecodable", "unknown_admin_message",
            "deleted",
        ]
        hidden = Dictionary(
            uniqueKeysWithValues: reasons.map {
                ($0, host.counter("messages_hidden_total", [("reason", $0)]))
            })
    }

    var paths: [IngestPath] {
        [config.path, config.chatPath].filter { !$0.isEmpty }.map { IngestPath($0) }
    }

    func handle(_ request: borrowing Request, _ sink: borrowing IngestSink) throws(PluginError) {
        let body = request.bodyBytes
        if request.pattern == config.path {
            let given = request.header("x-hub-signature") ?? ""
            let hex = given.hasPrefix("sha1=") ? String(given.dropFirst(5)) : ""
            try verify(body, hex, .hmacSHA1, config.deskSigners, .deskSignature)
            try desk(try host.parse(bodyOf: request), body, sink)
        } else {
            let given = request.header("x-sendbird-signature") ?? ""
            try verify(body, given, .hmacSHA256, config.chatSigners, .chatSignature)
            try chat(try host.parse(bodyOf: request), sink)
        }
    }

    /// All tokens are tried, in constant time.
    private func verify(
        _ body: [UInt8], _ hex: String, _ algorithm: Host.Algorithm, _ signers: [String],
        _ fault: Fault
    ) throws(PluginError) {
        guard let signature = Hex.decode(hex), !signature.isEmpty,
            try host.verify(algorithm, anyOf: signers, data: body, signature: signature)
        else { throw fault.error }
    }

    /// Desk's events and their bodies are undocumented: they are passed on unchanged, with the ticket
    /// if there is one.
    private func desk(
        _ json: JSON, _ body: [UInt8], _ sink: borrowing IngestSink
    ) throws(PluginError) {
        guard json.kind == .object else { throw Fault.notAnObject.error }
        webhooks.add()
        let name = json["type"]?.string ?? json["event"]?.string ?? json["category"]?.string ?? ""
        host.write(.debug, "webhook of Desk", [("type", String(name.prefix(64)))])
        let ticket = Ticket.find(json, host: host)
        let user = Ticket.customer(ticket)
        let isMessage = json.at("/payload/message_id") != nil
        // Bodies are undocumented: anything that looks like a message for agents is hidden.
        if isMessage || json["payload"] != nil,
            case .hide(let reason) = decide(json)
        {
            hidden[reason]?.add()
            try sink.respond(200)
            return
        }
        var print = Fingerprint()
        print.add(String(decoding: body, as: UTF8.self))
        var event = Event(
            type: isMessage ? "desk.message.sent" : "desk.event",
            data: EventData.write(json, ticket: ticket, kind: "", host: host))
        event.subject = "ticket/\(ticket?["id"]?.integer.map { String($0) } ?? "")"
        event.dedupe = "desk \(print.text)"
        event.dedupeWindowMs = Self.contentWindowMs
        let sender = json.at("/sender/user_id")?.string ?? ""
        if !user.isEmpty, user != sender {
            event.recipients = [Recipient(user: user, app: config.app)]
        }
        try sink.emit(event)
        // In addition to the ordinary event: a closed ticket's notifications are withdrawn.
        if !event.recipients.isEmpty, Ticket.isClosed(ticket) {
            event.type = "ticket.closed"
            event.dedupe += " closed"
            try sink.emit(event)
        }
        try sink.respond(200)
    }

    /// The kind of a message in a webhook's or an event's data, or why it is hidden.
    func decide(_ data: JSON) -> Kind.Decision {
        Kind.decide(data, host: host, showsAdmin: config.showsAdminMessages)
    }

    /// Desk waits one second for an answer and sends up to three times; the key is the content.
    private static let contentWindowMs: UInt64 = 30_000
    /// Sendbird waits five seconds for an answer to a Chat webhook.
    private static let openMs: UInt32 = 4_500
    /// As in the Sendbird plugin: the key is the message's id.
    private static let messageWindowMs: UInt64 = 600_000

    private func chat(_ json: JSON, _ sink: borrowing IngestSink) throws(PluginError) {
        guard json.kind == .object else { throw Fault.notAnObject.error }
        webhooks.add()
        if let app = json["app_id"]?.string, app != config.appID {
            sink.reject(Reject.otherApp.rawValue, Reject.otherApp.detail)
            try sink.respond(200)
            return
        }
        if json["category"]?.string == "group_channel:message_delete" {
            try deleted(json, sink)
            return
        }
        // Updates (URL previews, answered requests) and all other categories give no push.
        guard json["category"]?.string == "group_channel:message_send" else {
            try sink.respond(200)
            return
        }
        guard Kind.isDesk(json, host: host) else {
            sink.reject(Reject.notDesk.rawValue, Reject.notDesk.detail)
            try sink.respond(200)
            return
        }
        let message = try ChatMessage(json, config: config)
        switch decide(json) {
        case .hide(let reason):
            hidden[reason]?.add()
            try sink.respond(200)
        case .push(let kind):
            guard message.hasMembers else {
                sink.reject(Reject.noMembers.rawValue, Reject.noMembers.detail)
                try sink.respond(200)
                return
            }
            guard !message.users.isEmpty, !message.isSilent else {
                try sink.respond(200)
                return
            }
            try emit(message, json, kind, sink)
        }
    }

    private func deleted(_ json: JSON, _ sink: borrowing IngestSink) throws(PluginError) {
        guard Kind.isDesk(json, host: host) else {
            sink.reject(Reject.notDesk.rawValue, Reject.notDesk.detail)
            try sink.respond(200)
            return
        }
        let message = try ChatMessage(json, config: config)
        var event = event(message, json, Ticket.find(json, host: host), nil)
        event.type = "desk.message.deleted"
        event.dedupe = "\(config.appID) message_delete \(message.id)"
        event.timeUnixMs = 0
        event.recipients = message.joined.map { Recipient(user: $0.id, app: config.app) }
        if !message.hasMembers { sink.reject(Reject.noMembers.rawValue, Reject.noMembers.detail) }
        let open = try sink.deferred(timeoutMs: Self.openMs)
        deletions.note(message.id) { [event] result in
            open.attempt { () throws(PluginError) in
                if case .failure(let error) = result { throw PluginError(.again, error.message) }
                try Self.finish(open, event.recipients.isEmpty ? nil : event)
            }
        }
    }

    private static func finish(_ open: DeferredIngest, _ event: Event?) throws(PluginError) {
        if let event { try open.emit(event) }
        try open.respond(200)
        open.finish()
    }

    private func emit(
        _ message: ChatMessage, _ json: JSON, _ kind: Kind, _ sink: borrowing IngestSink
    ) throws(PluginError) {
        let text = json.text
        let open = try sink.deferred(timeoutMs: Self.openMs)
        deletions.isNoted(message.id) { isDeleted in
            open.attempt { () throws(PluginError) in
                guard !isDeleted else {
                    self.hidden["deleted"]?.add()
                    try Self.finish(open, nil)
                    return
                }
                try self.emit(message, text, kind, open)
            }
        }
    }

    private func emit(
        _ message: ChatMessage, _ text: String, _ kind: Kind, _ open: DeferredIngest
    ) throws(PluginError) {
        let json = try host.parse(text.utf8.span)
        let known = Ticket.find(json, host: host)
        guard known == nil, config.fetchesTickets else {
            try Self.finish(open, event(message, json, known, kind))
            return
        }
        let host = host
        let token = try host.secretText("api_token")
        host.send(TicketAPI.ticket(config, token: token, channelURL: message.channelURL)) {
            result in
            open.attempt { () throws(PluginError) in
                let json = try host.parse(text.utf8.span)
                // If the ticket is unavailable, the message is sent without it.
                var ticket: JSON?
                if case .success(let answer) = result, answer.status == 200,
                    let found = try? host.parse(answer.body.span)
                {
                    ticket = found.at("/results/0") ?? found.at("/tickets/0")
                }
                try Self.finish(open, self.event(message, json, ticket, kind))
            }
        }
    }

    private func event(
        _ message: ChatMessage, _ json: JSON, _ ticket: JSON?, _ kind: Kind?
    ) -> Event {
        var event = Event(
            type: "desk.message.sent",
            data: EventData.write(json, ticket: ticket, kind: kind?.rawValue ?? "", host: host))
        event.subject = "channel/\(message.channelURL)"
        event.dedupe = "\(config.appID) message_send \(message.id)"
        event.dedupeWindowMs = Self.messageWindowMs
        event.timeUnixMs = UInt64(clamping: message.createdMs)
        event.recipients = message.users.map { $0.recipient(app: config.app) }
        return event
    }
}

/// The library's entry point.
@c @implementation
public func sbx_plugin_entry_v1(
    _ host: UnsafePointer<sbx_host>?, _ error: UnsafeMutablePointer<sbx_error>?
) -> UnsafePointer<sbx_plugin>? { unsafe pluginEntry(SendbirdDesk.self) }
