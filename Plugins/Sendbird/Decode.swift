import SendbirdPush
import SignalboxPluginKit

/// The needed fields of `group_channel:message_send` and `message_delete`.
struct Message: Sendable {
    let id: Int64
    let isDeleted: Bool
    let createdMs: Int64
    /// `MESG`, `FILE` or `ADMM`.
    let type: String
    let senderID: String
    let channelURL: String
    let isSuper: Bool
    let isSilent: Bool
    let isReply: Bool
    /// Whether it mentions everybody in the channel.
    let mentionsChannel: Bool
    let mentioned: Set<String>
    /// Whether it belongs to a ticket of Sendbird Desk.
    let isDesk: Bool
    /// The event's data: the webhook without its members, with nested JSON texts decoded.
    let data: String

    init(_ json: JSON, host: Host) throws(PluginError) {
        let read = Reader(root: json)
        id = try read.integer("payload.message_id", required: true) ?? 0
        isDeleted = json["category"]?.string == "group_channel:message_delete"
        createdMs = try read.integer("payload.created_at") ?? 0
        type = try read.text("type") ?? "MESG"
        senderID = try read.text("sender.user_id") ?? ""
        channelURL = try read.text("channel.channel_url", required: true) ?? ""
        isSuper = try read.flag("channel.is_super")
        isSilent = try read.flag("silent")
        _ = try read.text("payload.message")
        let parent = try read.integer("parent_message_id")
        let inner = try read.integer("payload.parent_message_id")
        let isReply = (parent ?? inner ?? 0) > 0
        self.isReply = isReply
        mentionsChannel = try read.text("mention_type") == "channel"
        let users = json["mentioned_users"]
        let list = users?.kind == .array ? users?.elements ?? [] : users.map { [$0] } ?? []
        mentioned = Set(list.compactMap { $0["user_id"]?.string ?? $0.string })
        let payloadData = host.object(in: json.at("/payload/data"))
        let customs = [json.at("/payload/custom_type")?.string, json["custom_type"]?.string]
        let custom = customs.compactMap { $0 }.first { $0.hasPrefix("SENDBIRD_DESK_") } ?? ""
        let isDesk = Desk.isDesk(
            channelType: json.at("/channel/custom_type")?.string ?? "", messageType: custom,
            dataType: payloadData?["type"]?.string ?? "")
        self.isDesk = isDesk
        var out = JSONWriter()
        out.object { out in
            for member in json.members
            where !["members", "sender_ip_addr", "ticket", "desk", "kind", "channel_type"]
                .contains(member.key)
            {
                out.key(member.key)
                out.value(member.value)
            }
            if let payloadData {
                out.key("payload_data")
                out.raw(payloadData.text)
            }
            let channelData = host.object(in: json.at("/channel/data"))
            if let channelData {
                out.key("channel_data")
                out.raw(channelData.text)
            }
            out.member("channel_type", ChatChannel.type(json))
            guard isDesk else {
                out.member("kind", MessageKind(json, isReply: isReply).rawValue)
                return
            }
            let ticket = Ticket.find(json, host: host)
            Ticket.writeDesk(
                json, kind: "", ticket: ticket, hasTicket: false, host: host, to: &out)
            guard let ticket else { return }
            out.key("ticket")
            Ticket.write(ticket, host: host, to: &out)
        }
        data = out.text
    }

    /// Sendbird sends a webhook up to three times, and does not document the interval. The key is
    /// the message's unique id.
    private static let windowMs: UInt64 = 600_000

    /// The event without its recipients.
    func event(appID: String) -> Event {
        let what = isDeleted ? "message.deleted" : "message.sent"
        var event = Event(type: isDesk ? "desk.\(what)" : what, data: data)
        event.subject = "channel/\(channelURL)"
        event.dedupe = "\(appID) \(isDeleted ? "message_delete" : "message_send") \(id)"
        event.dedupeWindowMs = Self.windowMs
        if !isDeleted { event.timeUnixMs = UInt64(clamping: createdMs) }
        return event
    }
}

/// Distinguishes messages of Sendbird Desk from others: they use the same webhooks.
enum Desk {
    static func isDesk(channelType: String, messageType: String, dataType: String) -> Bool {
        channelType.hasPrefix("SENDBIRD_DESK_") || messageType.hasPrefix("SENDBIRD_DESK_")
            || dataType.hasPrefix("SENDBIRD_DESK_") || dataType.hasPrefix("SYSTEM_MESSAGE_")
            || ["TICKET_ASSIGN", "TICKET_TRANSFER", "TICKET_CLOSE"].contains(dataType)
    }
}

/// Reads members by path; an error for a wrong type names the path.
struct Reader {
    let root: JSON

    private func find(_ path: String) -> JSON? {
        let found = root.at("/" + path.map { $0 == "." ? "/" : String($0) }.joined())
        return found?.kind == .null ? nil : found
    }

    private func missing(_ path: String, _ required: Bool) throws(PluginError) {
        if required { throw Fault.wrong(path: path, what: "is required").error }
    }

    func text(_ path: String, required: Bool = false) throws(PluginError) -> String? {
        guard let value = find(path) else {
            try missing(path, required)
            return nil
        }
        guard let text = value.string else {
            throw Fault.wrong(path: path, what: "must be text").error
        }
        if text.isEmpty { try missing(path, required) }
        return text
    }

    /// An integer, also one written as text.
    func integer(_ path: String, required: Bool = false) throws(PluginError) -> Int64? {
        guard let value = find(path) else {
            try missing(path, required)
            return nil
        }
        guard let number = value.integer ?? value.string.flatMap({ Int64($0) }) else {
            throw Fault.wrong(path: path, what: "must be a 64-bit integer").error
        }
        return number
    }

    func flag(_ path: String) throws(PluginError) -> Bool {
        guard let value = find(path) else { return false }
        guard let flag = value.flag else {
            throw Fault.wrong(path: path, what: "must be true or false").error
        }
        return flag
    }
}
