import SignalboxPluginKit

/// What a notification shows on iOS.
struct Alert {
    /// Name of a text in the app, and what it is filled with: those of sygnal, which Element's apps have.
    let name: String
    let arguments: [String]
    /// The same as text.
    let title: String
    let body: String

    private init(_ name: String, _ arguments: [String], _ title: String, _ body: String) {
        self.name = name
        self.arguments = arguments
        self.title = title
        self.body = body
    }

    /// nil if the event shows nothing.
    init?(_ event: JSON) {
        func text(_ name: String) -> String { event[name]?.string ?? "" }
        let (name, sender) = (text("sender_display_name"), text("sender"))
        let from = name.isEmpty ? sender : name
        let room = text("room_name").isEmpty ? text("room_alias") : text("room_name")
        switch text("type") {
        case "": return nil
        case "m.room.message", "m.room.encrypted":
            self = Self.message(event["content"], from: from, room: room)
        case "m.call.invite":
            let offer = event.at("/content/offer/sdp")?.string ?? ""
            self =
                offer.contains("m=video")
                ? Alert("VIDEO_CALL_FROM_USER", [from], from, "Video call")
                : Alert("VOICE_CALL_FROM_USER", [from], from, "Voice call")
        case "m.room.member":
            let membership = event.at("/content/membership")?.string ?? text("membership")
            guard event["user_is_target"]?.boolean == true, membership == "invite" else {
                return nil
            }
            self =
                room.isEmpty
                ? Alert("USER_INVITE_TO_CHAT", [from], from, "Invitation")
                : Alert("USER_INVITE_TO_NAMED_ROOM", [from, room], from, "Invitation to \(room)")
        default:
            // The homeserver's push rules found it worth a push.
            self = Alert("MSG_FROM_USER", [from], from, "")
        }
    }

    private static func message(_ content: JSON?, from: String, room: String) -> Alert {
        let body = content?["body"]?.string ?? ""
        let hasRoom = !room.isEmpty
        let title = hasRoom ? room : from
        guard !body.isEmpty else {
            return hasRoom
                ? Alert("MSG_FROM_USER_IN_ROOM", [from, room], title, from)
                : Alert("MSG_FROM_USER", [from], title, "")
        }
        let shown = hasRoom ? "\(from): \(body)" : body
        switch content?["msgtype"]?.string ?? "" {
        case "m.emote":
            return hasRoom
                ? Alert("ACTION_FROM_USER_IN_ROOM", [room, from, body], title, "* \(from) \(body)")
                : Alert("ACTION_FROM_USER", [from, body], title, "* \(from) \(body)")
        case "m.image":
            return hasRoom
                ? Alert("IMAGE_FROM_USER_IN_ROOM", [from, body, room], title, shown)
                : Alert("IMAGE_FROM_USER", [from, body], title, shown)
        default:
            // The body of a message is meant for people, whatever its kind.
            return hasRoom
                ? Alert("MSG_FROM_USER_IN_ROOM_WITH_CONTENT", [from, room, body], title, shown)
                : Alert("MSG_FROM_USER_WITH_CONTENT", [from, body], title, shown)
        }
    }

    /// The part `localized` of a notification.
    var localized: String {
        var out = JSONWriter()
        out.object { out in
            out.key("body")
            out.object { out in
                out.member("loc_key", name)
                out.strings("loc_args", arguments)
            }
        }
        return out.text
    }

    /// The same as a member of `aps`.
    func json(showsName: Bool) -> String {
        var out = JSONWriter()
        out.object { out in
            if showsName {
                out.member("loc-key", name)
                out.strings("loc-args", arguments)
            } else {
                out.member("title", title)
                out.member("body", body)
            }
        }
        return out.text
    }
}
