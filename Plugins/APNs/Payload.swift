import SignalboxPluginKit

/// The payload and headers that deliveries of one content share.
final class Payload: Sendable {
    let bytes: [UInt8]
    let topic: String
    let pushType: String
    let priority: String
    let collapse: String
    let expiresAtOnce: Bool

    /// `isBroadcast`: it goes to a channel. `eventUnixMs`: when its event arrived.
    init(
        _ content: PushNotification, badge: Int32?, account: Account, topic: String,
        isBroadcast: Bool, eventUnixMs: UInt64, host: Host
    ) throws(Outcome) {
        pushType = try Self.pushType(of: content)
        guard let type = PushType.all[pushType] else { throw .unknownPushType }
        guard account.usesToken || !type.needsToken else { throw .typeNeedsToken }
        guard !isBroadcast || pushType == "liveactivity" else { throw .channelNeedsLiveActivity }
        self.topic = topic + type.suffix
        guard account.allowed.isEmpty || account.allowed.contains(self.topic) else {
            throw .topicNotInCertificate
        }
        priority = type.priority ?? String((content.priority ?? .high).rawValue)
        expiresAtOnce = type.expiresAtOnce
        collapse = CollapseKey.shortened(content.collapse)
        let full = try Self.body(
            content, badge: badge, pushType: pushType, eventUnixMs: eventUnixMs, host: host)
        try Self.check(full, pushType, type, isBroadcast: isBroadcast, host)
        let bytesMax = isBroadcast ? PushType.broadcastBytesMax : type.bytesMax
        bytes =
            full.count <= bytesMax
            ? full : try Self.fitted(full, content, pushType, bytesMax: bytesMax, host)
    }

    /// A push that shows nothing has the type `background`, which PushKit's tokens and Live Activities do not take. With
    /// their own type a phone would ring.
    private static func pushType(of content: PushNotification) throws(Outcome) -> String {
        guard content.isDryRun || content.isWithdrawn else {
            if !content.pushType.isEmpty { return content.pushType }
            return content.isSilent ? "background" : "alert"
        }
        guard ["", "alert", "background"].contains(content.pushType) else { throw .notUnseen }
        return "background"
    }

    /// Throws for content that the device would silently ignore.
    private static func check(
        _ payload: [UInt8], _ name: String, _ type: PushType, isBroadcast: Bool, _ host: Host
    ) throws(Outcome) {
        guard !type.member.isEmpty || name == "liveactivity" else { return }
        guard let json = try? host.parse(payload.span) else { throw .malformedData }
        if !type.member.isEmpty, json[type.member]?.string?.isEmpty != false {
            throw .missingMember(type.member)
        }
        if name == "liveactivity",
            let fault = LiveActivity.fault(in: json, isBroadcast: isBroadcast)
        {
            throw .malformedLiveActivity(fault)
        }
    }

    private static func fitted(
        _ payload: [UInt8], _ content: PushNotification, _ pushType: String, bytesMax: Int,
        _ host: Host
    ) throws(Outcome) -> [UInt8] {
        var limit = PayloadLimit(bytesMax: bytesMax)
        if pushType == "liveactivity" {
            LiveActivity.addPlaces(of: payload, to: &limit, host)
        } else {
            limit.addAlert("/aps/alert", of: payload, host)
        }
        guard let fitted = try? host.fitted(payload, of: content, to: limit) else {
            throw .payloadTooLarge
        }
        return fitted
    }

    private static func body(
        _ content: PushNotification, badge: Int32?, pushType: String, eventUnixMs: UInt64,
        host: Host
    ) throws(Outcome) -> [UInt8] {
        var data: JSON?
        if !content.data.isEmpty {
            guard let parsed = try? host.parse(content.data.utf8.span), parsed.kind == .object
            else {
                throw .malformedData
            }
            data = parsed
        }
        if pushType == "mdm" || pushType == "fileprovider" {
            // The system reads them, and no app: there is no aps.
            var writer = JSONWriter()
            writer.raw(data?.text ?? "{}")
            return try overridden(content, writer, host)
        }
        guard let localized = try? LocalizedTexts(content, host) else { throw .malformedData }
        let members = data?.members ?? []
        guard !members.contains(where: { $0.key == "aps" }) else { throw .reservedKey }
        var writer = JSONWriter()
        writer.object { out in
            out.key("aps")
            out.object { out in
                if pushType == "liveactivity" {
                    LiveActivity.write(content, localized, eventUnixMs: eventUnixMs, to: &out)
                } else {
                    writeAPS(
                        content, localized, badge: badge ?? content.badge, pushType: pushType,
                        to: &out)
                }
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
        return try overridden(content, writer, host)
    }

    private static func overridden(
        _ content: PushNotification, _ payload: consuming JSONWriter, _ host: Host
    ) throws(Outcome) -> [UInt8] {
        guard let whole = try? content.overridden(payload, family: "apns", host) else {
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
            out.member("content-available", 1)
        case "widgets", "controls":
            out.member("content-changed", true)
        default:
            let hasAlert =
                !content.title.isEmpty || !content.subtitle.isEmpty || !content.body.isEmpty
                || !localized.isEmpty
            if hasAlert {
                out.key("alert")
                out.object { out in localized.writeAlert(of: content, to: &out) }
            }
            if let badge {
                out.member("badge", badge)
            }
            out.member("sound", content.sound)
            out.member("thread-id", content.thread)
            out.member("category", content.category)
            // The app's extension fetches the image, so it must be allowed to change the push.
            if hasAlert, content.isMutable || !content.imageURL.isEmpty {
                out.member("mutable-content", 1)
            }
        }
    }
}
