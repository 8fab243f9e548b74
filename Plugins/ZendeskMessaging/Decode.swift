import SignalboxPluginKit

/// `{"app":{"id"},"webhook":{"id","version"},"events":[{"id","type","createdAt","payload":{...}}]}`.
struct Webhook {
    let appID: String
    let events: [JSON]

    init(_ json: JSON) throws(PluginError) {
        guard json.kind == .object else { throw Fault.notAnObject.error }
        guard let events = json["events"], events.kind == .array else { throw Fault.events.error }
        appID = json.at("/app/id")?.string ?? ""
        self.events = events.elements
    }
}

/// A message of the business, from `conversation:message`.
struct Message: Sendable {
    let appID: String
    let conversationID: String
    /// The user named in the webhook, if any; usually none.
    let user: Participant?
    /// The event without its recipients.
    private let event: Event

    /// nil for a message of the user, which gives no push.
    init?(_ json: JSON, appID: String) throws(Reject) {
        guard let payload = json["payload"], let message = payload["message"],
            let author = message.at("/author/type")?.string
        else { throw .malformedEvent }
        guard author == "business" else { return nil }
        guard let conversation = payload.at("/conversation/id")?.string, !conversation.isEmpty
        else { throw .noConversation }
        self.appID = appID
        conversationID = conversation
        user = payload["user"].flatMap { Participant(user: $0) }
        var data = JSONWriter()
        data.object { out in
            // Leave out earlier messages and the user's profile.
            for member in payload.members
            where !["recentNotifications", "user", "app_id", "text"].contains(member.key) {
                out.key(member.key)
                out.value(member.value)
            }
            out.member("app_id", appID)
            out.member("text", MessageText.of(message["content"]))
        }
        var event = Event(type: "conversation.message", data: data.text)
        event.subject = "conversation/\(conversation)"
        let time = message["received"]?.string ?? json["createdAt"]?.string ?? ""
        event.timeUnixMs = Timestamp.unixMs(time) ?? 0
        let id = json["id"]?.scalarText ?? message["id"]?.scalarText ?? ""
        if !id.isEmpty { event.dedupe = "\(appID) \(id)" }
        event.dedupeWindowMs = Self.windowMs
        self.event = event
    }

    /// A webhook that is not answered 2xx is retried up to five times, at growing intervals whose length is not
    /// documented. The key is the event's unique id, so a long window drops no other event.
    private static let windowMs: UInt64 = 3_600_000

    /// Key of its conversation.
    var key: String { "\(appID) \(conversationID)" }

    func event(for users: [String], app: String) -> Event {
        var event = event
        event.recipients = users.map { Recipient(user: $0, app: app) }
        return event
    }
}

/// A user of a conversation.
struct Participant: Sendable {
    let id: String
    /// The id that the app gave the user at login; empty for none.
    let externalID: String

    /// Reads a user of a webhook.
    init?(user: JSON) { self.init(id: user["id"], externalID: user["externalId"]) }

    /// Reads an entry of `participants`.
    init?(participant: JSON) {
        self.init(id: participant["userId"], externalID: participant["userExternalId"])
    }

    private init?(id: JSON?, externalID: JSON?) {
        self.id = id?.scalarText ?? ""
        self.externalID = externalID?.scalarText ?? ""
        if self.id.isEmpty && self.externalID.isEmpty { return nil }
    }
}

/// The shown text of a message.
enum MessageText {
    private static let names = [
        "image": "Image", "file": "File", "carousel": "Carousel", "list": "List", "form": "Form",
        "location": "Location",
    ]

    /// The message's own text, or a word for its type.
    static func of(_ content: JSON?) -> String {
        let places = ["/text", "/altText", "/title", "/location/name", "/items/0/title"]
        for place in places {
            if let text = content?.at(place)?.scalarText, !text.isEmpty { return text }
        }
        return names[content?["type"]?.string ?? ""] ?? "Message"
    }
}
