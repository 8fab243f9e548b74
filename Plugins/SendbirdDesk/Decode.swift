import SendbirdPush
import SignalboxPluginKit

/// A Chat webhook about Desk, with the fields that a push needs.
struct ChatMessage: Sendable {
    let id: Int64
    let createdMs: Int64
    let channelURL: String
    /// Customers who may get a push for it.
    let users: [ChatMember]
    /// All customers in the channel.
    let joined: [ChatMember]
    let isSilent: Bool
    let hasMembers: Bool

    init(_ json: JSON, config: Config) throws(PluginError) {
        func wrong(_ path: String, _ what: String) -> PluginError {
            Fault.wrong(path: path, what: what).error
        }
        guard let id = json.at("/payload/message_id")?.number else {
            throw wrong("payload.message_id", "must be a 64-bit integer")
        }
        guard let channel = json.at("/channel/channel_url")?.string, !channel.isEmpty else {
            throw wrong("channel.channel_url", "must be text")
        }
        self.id = id
        createdMs = json.at("/payload/created_at")?.number ?? 0
        channelURL = channel
        isSilent = json["silent"]?.flag ?? false
        let members = json["members"]
        hasMembers = members?.kind == .array
        let sender = json.at("/sender/user_id")?.string ?? ""
        joined = (members?.elements ?? []).compactMap { ChatMember($0) }.filter { member in
            !config.isAgent(member.id) && member.isJoined
        }
        users = joined.filter { member in
            member.id != sender && member.isPushEnabled && !member.isDoNotDisturb
                && !member.isBlockingSender
                && Self.isTriggered(member.trigger, member.id, json)
        }
    }

    private static func isTriggered(_ option: String, _ user: String, _ json: JSON) -> Bool {
        switch option {
        case "off": return false
        case "mention_only":
            let mentioned = json["mentioned_users"]?.elements ?? []
            return json["mention_type"]?.string == "channel"
                || mentioned.contains { $0["user_id"]?.string == user }
        default: return true
        }
    }
}

/// The data of an event: the webhook without its members, with `data` decoded and the ticket's fields added.
enum EventData {
    static func write(_ json: JSON, ticket: JSON?, kind: String, host: Host) -> String {
        var out = JSONWriter()
        out.object { out in
            for member in json.members
            where !["members", "ticket", "sender_ip_addr", "kind", "desk", "payload_data"]
                .contains(member.key)
            {
                out.key(member.key)
                out.value(member.value)
            }
            out.member("kind", kind)
            Ticket.writeDesk(
                json, kind: kind, ticket: ticket, hasTicket: false, host: host, to: &out)
            if let decoded = host.object(in: json.at("/payload/data")) {
                out.key("payload_data")
                out.raw(decoded.text)
            }
            if let ticket {
                out.key("ticket")
                Ticket.write(ticket, host: host, to: &out)
            }
        }
        return out.text
    }
}
