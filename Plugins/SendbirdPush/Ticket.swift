package import SignalboxPluginKit

/// A ticket with stable names for routes and templates:
/// `{id, title, channel_url, priority, status, group_key, customer, custom_fields: {}, related_channels: []}`.
///
/// Desk's API, its SDKs and its webhooks use different names; reading accepts this plugin's own output, too.
package enum Ticket {
    /// Finds the ticket in a webhook.
    package static func find(_ json: JSON, host: Host) -> JSON? {
        let places = [
            json["ticket"], json.at("/data/ticket"),
            host.object(in: json.at("/payload/data"))?["ticket"],
            host.object(in: json["payload_data"])?["ticket"],
            host.object(in: json.at("/channel/data"))?["ticket"],
            host.object(in: json["channel_data"])?["ticket"],
        ]
        return places.compactMap { $0 }.first { $0.kind == .object }
    }

    package static func write(_ ticket: JSON, host: Host, to out: inout JSONWriter) {
        func text(_ keys: String...) -> String {
            for key in keys {
                if let value = ticket[key]?.string { return value }
                if let value = ticket[key]?.integer { return String(value) }
            }
            return ""
        }
        out.object { out in
            out.member("id", text("id", "ticket_id"))
            out.member("title", text("channelName", "channel_name", "title"))
            out.member("channel_url", text("channelUrl", "channel_url"))
            out.member("priority", text("priority").lowercased())
            out.member("status", text("status2", "status"))
            out.member("group_key", groupKey(ticket))
            out.member("customer", customer(ticket))
            out.key("custom_fields")
            out.object { out in
                for (key, value) in fields(ticket["customFields"] ?? ticket["custom_fields"], host)
                {
                    out.key(key)
                    out.string(value)
                }
            }
            out.key("related_channels")
            out.array { out in
                let given = ticket["relatedChannels"] ?? ticket["related_channels"]
                for (url, name) in channels(given, host) {
                    out.object { out in
                        out.member("channel_url", url)
                        out.member("name", name)
                    }
                }
            }
        }
    }

    /// The customer's user id in Chat.
    package static func customer(_ ticket: JSON?) -> String {
        let customer = ticket?["customer"]
        return customer?.string ?? customer?["sendbirdId"]?.string
            ?? customer?["sendbird_id"]?.string ?? ""
    }

    /// Whether the ticket is closed, so that its messages should no longer be shown.
    package static func isClosed(_ ticket: JSON?) -> Bool {
        let status = ticket?["status2"]?.string ?? ticket?["status"]?.string
        return status?.uppercased() == "CLOSED"
    }

    /// The team that the ticket was created for; empty if none or unknown.
    package static func groupKey(_ source: JSON?) -> String {
        let group = source?["group"]
        let places = [
            source?["group_key"], source?["groupKey"], group?["key"], group?["group_key"],
            group?["groupKey"], group,
        ]
        return places.compactMap { $0?.string }.first { !$0.isEmpty } ?? ""
    }

    /// Writes the member for routes and apps: `"desk": {"kind", "group_key"}`, with the ticket in a push.
    package static func writeDesk(
        _ data: JSON, kind: String, ticket: JSON?, hasTicket: Bool, host: Host,
        to out: inout JSONWriter
    ) {
        out.key("desk")
        out.object { out in
            out.member("kind", kind)
            let keys = [
                groupKey(ticket), groupKey(data["desk"]), groupKey(data),
                groupKey(host.object(in: data.at("/payload/data"))),
            ]
            out.member("group_key", keys.first { !$0.isEmpty } ?? "")
            guard hasTicket, let ticket else { return }
            out.key("ticket")
            write(ticket, host: host, to: &out)
        }
    }

    /// An object, a list of `{key, value}` or `{field: {key}, value}`, or either as text.
    private static func fields(_ given: JSON?, _ host: Host) -> [(String, String)] {
        guard let value = decoded(given, host) else { return [] }
        func text(_ json: JSON?) -> String { json.map { $0.string ?? $0.text } ?? "" }
        if value.kind == .object { return value.members.map { ($0.key, text($0.value)) } }
        return value.elements.compactMap { entry in
            guard let key = entry["key"]?.string ?? entry.at("/field/key")?.string else {
                return nil
            }
            return (key, text(entry["value"]))
        }
    }

    /// At most three, as documented: objects, or URLs.
    private static func channels(_ given: JSON?, _ host: Host) -> [(String, String)] {
        guard let value = decoded(given, host) else { return [] }
        return value.elements.prefix(3).compactMap { entry in
            let url =
                entry.string ?? entry["channelUrl"]?.string ?? entry["channel_url"]?.string ?? ""
            return url.isEmpty ? nil : (url, entry["name"]?.string ?? "")
        }
    }

    private static func decoded(_ given: JSON?, _ host: Host) -> JSON? {
        guard let text = given?.string else { return given }
        return try? host.parse(text.utf8.span)
    }
}
