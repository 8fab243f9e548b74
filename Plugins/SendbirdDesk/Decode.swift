import SignalboxPluginKit

/// A Chat webhook that concerns Desk, with what a push needs.
struct ChatMessage: Sendable {
    let id: Int64
    let createdMs: Int64
    let channelURL: String
    let users: [(id: String, name: String, unread: String, isOnline: Bool)]
    let isSilent: Bool
    let hasMembers: Bool

    init(_ json: JSON, config: Config) throws(PluginError) {
        func wrong(_ path: String, _ what: String) -> PluginError {
            Fault.wrong(path: path, what: what).error
        }
        func integer(_ path: String) -> Int64? {
            let value = json.at(path)
            return value?.integer ?? value?.string.flatMap { Int64($0) }
        }
        guard let id = integer("/payload/message_id") else {
            throw wrong("payload.message_id", "must be a whole number of 64 bits")
        }
        guard let channel = json.at("/channel/channel_url")?.string, !channel.isEmpty else {
            throw wrong("channel.channel_url", "must be text")
        }
        self.id = id
        createdMs = integer("/payload/created_at") ?? 0
        channelURL = channel
        isSilent = json["silent"]?.boolean ?? false
        let members = json["members"]
        hasMembers = members?.kind == .array
        let sender = json.at("/sender/user_id")?.string ?? ""
        users = (members?.elements ?? []).compactMap { member in
            guard let id = member["user_id"]?.string, id != sender,
                !config.agentPrefixes.contains(where: { id.hasPrefix($0) }),
                member["state"]?.string ?? "joined" == "joined",
                member["push_enabled"]?.boolean ?? true,
                !(member["do_not_disturb"]?.boolean ?? false),
                !(member["is_blocking_sender"]?.boolean ?? false),
                Self.isTriggered(member["push_trigger_option"]?.string, id, json)
            else { return nil }
            let unread = member["total_unread_message_count"]?.integer
            return (
                id, member["nickname"]?.string ?? "", unread.map { String($0) } ?? "",
                member["is_online"]?.boolean ?? false
            )
        }
    }

    private static func isTriggered(_ option: String?, _ user: String, _ json: JSON) -> Bool {
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

/// The data of an event: the webhook without its members, with `data` decoded and the ticket's fields.
enum EventData {
    static func write(_ json: JSON, ticket: JSON?, kind: String, host: Host) -> String {
        var out = JSONWriter()
        out.object { out in
            for member in json.members
            where !["members", "ticket", "sender_ip_addr", "kind", "payload_data"]
                .contains(member.key)
            {
                out.key(member.key)
                out.raw(member.value.text)
            }
            out.member("kind", kind)
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
