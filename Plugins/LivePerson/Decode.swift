import SignalboxPluginKit

/// A push that Conversational Cloud sends to the brand's server.
struct ProxyPush: Sendable {
    let token: String
    let platform: String
    /// `ams` (an agent), `prmsg` (proactive), `c2m` (connect to messaging), or something new.
    let service: String
    let conversation: String
    let sequence: String
    let brandID: String
    let id: String
    let badge: Int32?
    /// The event's data: the body without the token, with the inner payload's keys at the top.
    let data: String

    private static let platforms: [Int64: String] = [1: "ios", 2: "android", 3: "huawei"]

    init(_ json: JSON, host: Host) throws(PluginError) {
        guard json.kind == .object else { throw Fault.notAnObject.error }
        guard let token = json["device-token"]?.string, !token.isEmpty,
            token.utf8.count <= 4_096
        else {
            throw Fault.wrong(
                path: "device-token", what: "must be text of 1 to 4096 bytes"
            ).error
        }
        // This number decides the platform, not the shape of the body.
        guard let number = Self.number(json["push-service"]),
            let platform = Self.platforms[number]
        else { throw Fault.wrong(path: "push-service", what: "must be 1, 2 or 3").error }
        self.token = token
        self.platform = platform
        let inside = platform == "ios" ? json : try Self.payload(json, host)
        func text(_ key: String) -> String {
            (inside[key] ?? json[key])?.scalarText ?? ""
        }
        service = text("backendService").lowercased()
        conversation = text("conversationId")
        sequence = text("sequence")
        brandID = text("brandId")
        id = text("id")
        let badge = Self.number(inside["badge"] ?? json["badge"])
        self.badge = badge.map { Int32(clamping: $0) }
        var out = JSONWriter()
        out.object { out in
            for member in json.members where member.key != "device-token" {
                out.key(member.key)
                out.value(member.value)
            }
            out.key("lp")
            out.object { out in
                for key in [
                    "backendService", "conversationId", "dialogId", "originatorId", "brandId",
                    "sequence", "id",
                ] {
                    out.member(key, text(key))
                }
                if let badge {
                    out.member("badge", badge)
                }
                out.member("message", Self.message(json))
            }
        }
        data = out.text
    }

    /// `data.payload`: an object, or an object as JSON text.
    private static func payload(_ json: JSON, _ host: Host) throws(PluginError) -> JSON {
        guard let data = json["data"], data.kind == .object else {
            throw Fault.wrong(path: "data", what: "must be an object").error
        }
        guard let given = data["payload"], given.kind != .null else { return data }
        guard let payload = host.object(in: given) else {
            throw Fault.wrong(path: "data.payload", what: "must be an object").error
        }
        return payload
    }

    /// The shown text.
    static func message(_ json: JSON) -> String {
        json.at("/aps/alert")?.scalarText ?? json.at("/aps/alert/body")?.scalarText
            ?? json.at("/data/message")?.scalarText ?? json["message"]?.scalarText ?? ""
    }

    /// Numbers may arrive as numbers or as text.
    static func number(_ value: JSON?) -> Int64? {
        value?.integer ?? value?.string.flatMap { Int64($0) }
    }

    var type: String {
        switch service {
        case "prmsg": "proactive.received"
        case "c2m": "c2m.received"
        default: "message.received"
        }
    }

    /// The proxy sends a push up to four times, ten seconds apart, and a request here may take thirty seconds.
    private static let windowMs: UInt64 = 120_000

    var dedupe: String {
        var print = Fingerprint()
        let isNumbered = !conversation.isEmpty && !sequence.isEmpty
        let own = isNumbered ? [conversation, sequence, id] : [id, data]
        for text in own + [service, token] { print.add(text) }
        return print.text
    }

    func event(app: String, user: String, locale: String) -> Event {
        var device = Device(platform: platform, token: token)
        device.app = app
        device.user = user
        device.locale = locale
        var event = Event(type: type, data: data)
        event.subject = "conversation/\(conversation)"
        event.dedupe = dedupe
        event.dedupeWindowMs = Self.windowMs
        event.recipients = [Recipient(device)]
        return event
    }
}
