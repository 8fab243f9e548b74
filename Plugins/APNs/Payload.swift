import SignalboxPluginKit

/// Why a notification cannot become a payload.
enum RenderFault: Error {
    case malformedToken, unknownPushType, locationNeedsToken, reservedKey, malformedData, tooLarge
    case topicNotInCertificate
}

/// The payload and headers that deliveries of one content share.
struct Payload: Sendable {
    /// A push type with its rules from Apple's table.
    struct Kind {
        var suffix = ""
        var bytesMax = 4096
        /// The only allowed priority; nil for the notification's.
        var priority: String?
        /// It is useless later: one attempt, not stored by Apple.
        var expiresAtOnce = false
    }

    static let kinds: [String: Kind] = [
        "alert": Kind(),
        "background": Kind(priority: "5"),
        "voip": Kind(suffix: ".voip", bytesMax: 5120, priority: "10", expiresAtOnce: true),
        "complication": Kind(suffix: ".complication"),
        "fileprovider": Kind(suffix: ".pushkit.fileprovider"),
        "mdm": Kind(),
        "liveactivity": Kind(suffix: ".push-type.liveactivity"),
        "location": Kind(suffix: ".location-query"),
        "pushtotalk": Kind(suffix: ".voip-ptt", priority: "10", expiresAtOnce: true),
        "widgets": Kind(suffix: ".push-type.widgets"),
        "controls": Kind(suffix: ".push-type.controls"),
    ]

    let bytes: [UInt8]
    let topic: String
    let pushType: String
    let priority: String
    let collapse: String
    let expiresAtOnce: Bool

    init(
        _ content: PushNotification, badge: Int32?, topic: String, usesToken: Bool, host: Host
    ) throws(RenderFault) {
        let isUnseen = content.isSilent || content.isDryRun || content.isWithdrawn
        let derived = isUnseen ? "background" : "alert"
        pushType = content.pushType.isEmpty ? derived : content.pushType
        guard let kind = Self.kinds[pushType] else { throw .unknownPushType }
        guard usesToken || pushType != "location" else { throw .locationNeedsToken }
        self.topic = topic + kind.suffix
        priority = kind.priority ?? String((content.priority ?? .high).rawValue)
        expiresAtOnce = kind.expiresAtOnce
        collapse = CollapseKey.shortened(content.collapse)
        let full = try Self.body(content, badge: badge, pushType: pushType, host: host)
        bytes =
            full.count <= kind.bytesMax
            ? full : try Self.fitted(full, content, bytesMax: kind.bytesMax, host)
    }

    private static func fitted(
        _ payload: [UInt8], _ content: PushNotification, bytesMax: Int, _ host: Host
    ) throws(RenderFault) -> [UInt8] {
        var limit = PayloadLimit(bytesMax: bytesMax)
        limit.addAlert("/aps/alert", of: payload, host)
        guard let fitted = try? host.fitted(payload, of: content, to: limit) else {
            throw .tooLarge
        }
        return fitted
    }

    private static func body(
        _ content: PushNotification, badge: Int32?, pushType: String, host: Host
    ) throws(RenderFault) -> [UInt8] {
        var data: JSON?
        if !content.data.isEmpty {
            guard let parsed = try? host.parse(content.data.utf8.span), parsed.kind == .object
            else {
                throw .malformedData
            }
            data = parsed
        }
        if pushType == "mdm" { return Array((data?.text ?? "{}").utf8) }
        guard let localized = try? LocalizedTexts(content, host) else { throw .malformedData }
        let members = data?.members ?? []
        guard !members.contains(where: { $0.key == "aps" }) else { throw .reservedKey }
        var writer = JSONWriter()
        writer.object { out in
            out.key("aps")
            out.object { out in
                writeAPS(
                    content, localized, badge: badge ?? content.badge, pushType: pushType, to: &out)
            }
            if content.isWithdrawn {
                // The app removes the shown notification with this identifier, its collapse id.
                out.key("signalbox")
                out.object { $0.member("withdraw", CollapseKey.shortened(content.collapse)) }
            }
            out.member("image", content.imageURL)
            out.member("link", content.link)
            for member in members
            where !(member.key == "image" && !content.imageURL.isEmpty)
                && !(member.key == "link" && !content.link.isEmpty)
            {
                out.key(member.key)
                out.value(member.value)
            }
        }
        guard let whole = try? content.overridden(writer, family: "apns", host) else {
            throw .malformedData
        }
        return whole.bytes
    }

    private static func writeAPS(
        _ content: PushNotification, _ localized: LocalizedTexts, badge: Int32?, pushType: String,
        to out: inout JSONWriter
    ) {
        switch pushType {
        case "background":
            // Apple allows no alert, badge or sound with it.
            out.key("content-available")
            out.integer(1)
        case "widgets", "controls":
            out.key("content-changed")
            out.boolean(true)
        default:
            let hasAlert =
                !content.title.isEmpty || !content.subtitle.isEmpty || !content.body.isEmpty
                || !localized.isEmpty
            if hasAlert {
                out.key("alert")
                out.object { out in localized.writeAlert(of: content, to: &out) }
            }
            if let badge {
                out.key("badge")
                out.integer(badge)
            }
            out.member("sound", content.sound)
            out.member("thread-id", content.thread)
            out.member("category", content.category)
            // The app's extension fetches the image, so it must be allowed to change the push.
            if hasAlert, content.isMutable || !content.imageURL.isEmpty {
                out.key("mutable-content")
                out.integer(1)
            }
        }
    }
}
