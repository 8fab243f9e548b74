import SignalboxPluginKit

/// A ticket with names that routes and templates can rely on:
/// `{id, title, channel_url, priority, status, customer, custom_fields: {}, related_channels: []}`.
///
/// Desk's API, its SDKs and its webhooks write the same things in several ways.
enum Ticket {
    /// Where a webhook may have it.
    static func find(_ json: JSON, host: Host) -> JSON? {
        let places = [
            json["ticket"], json.at("/data/ticket"),
            host.object(in: json.at("/payload/data"))?["ticket"],
            host.object(in: json["payload_data"])?["ticket"],
            host.object(in: json.at("/channel/data"))?["ticket"],
            host.object(in: json["channel_data"])?["ticket"],
        ]
        return places.compactMap { $0 }.first { $0.kind == .object }
    }

    static func write(_ ticket: JSON, host: Host, to out: inout JSONWriter) {
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
            let customer = ticket["customer"]
            out.member(
                "customer",
                customer?["sendbirdId"]?.string ?? customer?["sendbird_id"]?.string ?? "")
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

    /// At most three, says the documentation: objects, or urls.
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

    /// `GET /platform/v1/tickets?channel_url=...`
    static func call(_ config: Config, token: String, channelURL: String) -> HTTPCall {
        let channel = PathSegment.encode(channelURL)
        var call = HTTPCall(
            "GET", "\(config.origin)/platform/v1/tickets?channel_url=\(channel)&limit=1")
        call.headers = [("sendbirddeskapitoken", token)]
        call.caFile = config.caFile
        call.timeoutMs = 2_000
        return call
    }
}
