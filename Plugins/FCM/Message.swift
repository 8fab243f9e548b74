import SignalboxPluginKit

/// The JSON that deliveries of one content share: before and after the token.
struct Message: Sendable {
    private static let ttlMaxSeconds: UInt64 = 2_419_200

    /// The end of `head`.
    static let tokenKey = "\"token\":\""

    let head: [UInt8]
    let tail: [UInt8]

    init(
        _ content: PushNotification, badge: Int32?, platform: String, deadlineUnixMs: UInt64,
        config: Config, host: Host
    ) throws(Outcome) {
        guard let localized = try? LocalizedTexts(content, host) else { throw .malformedData }
        let data = try content.textData(
            withdrawing: Self.shownKey(content, platform),
            hasTexts: content.isDataOnly && !content.isSilent, localized, host,
            isReserved: Self.isReserved)
        // An override may bring the text.
        let hasContent =
            !content.title.isEmpty || !content.body.isEmpty || !content.imageURL.isEmpty
            || !localized.isEmpty || content.part("fcm") != nil
        let isShown =
            hasContent && !content.isDataOnly && !content.isSilent && !content.isDryRun
            && !content.isWithdrawn
        var ttl: UInt64?
        if deadlineUnixMs > 0 {
            let now = host.nowUnixMs
            let left = deadlineUnixMs > now ? (deadlineUnixMs - now) / 1000 : 0
            ttl = min(left, Self.ttlMaxSeconds)
        }
        var rest = JSONWriter()
        rest.object { out in
            if isShown { Self.writeNotification(content, localized, to: &out) }
            if !data.isEmpty {
                out.key("data")
                out.object { out in
                    for (key, value) in data {
                        out.key(key)
                        out.string(value)
                    }
                }
            }
            let badge = badge ?? content.badge
            switch platform {
            case "ios":
                Self.writeAPNs(
                    content, localized, badge: badge, deadlineUnixMs: deadlineUnixMs, to: &out)
            case "web": Self.writeWebPush(content, ttl: ttl, to: &out)
            default:
                Self.writeAndroid(
                    content, localized, badge: badge, ttl: ttl, isShown: isShown, config: config,
                    to: &out)
            }
        }
        guard let whole = try? content.overridden(rest, family: "fcm", host) else {
            throw .malformedData
        }
        guard
            let bytes = try? Limit.fitted(whole.bytes, of: content, platform: platform, host)
        else { throw .tooLarge }
        let prefix = config.isValidateOnly || content.isDryRun ? "{\"validate_only\":true," : "{"
        head = Array("\(prefix)\"message\":{\(Self.tokenKey)".utf8)
        // The object without its opening brace follows the token.
        let isEmpty = bytes.count <= 2
        tail = Array((isEmpty ? "\"" : "\",").utf8) + bytes.dropFirst() + [UInt8(ascii: "}")]
    }

    private static func shownKey(_ content: PushNotification, _ platform: String) -> String {
        platform == "ios" ? CollapseKey.shortened(content.collapse) : content.collapse
    }

    private static func isReserved(_ key: String) -> Bool {
        key.isEmpty || key == "from" || key == "message_type" || key.hasPrefix("google")
            || key.hasPrefix("gcm")
    }

    private static func writeNotification(
        _ content: PushNotification, _ localized: LocalizedTexts, to out: inout JSONWriter
    ) {
        out.key("notification")
        out.object { out in
            // The system prefers a literal text to a localized one.
            if localized.title == nil { out.member("title", content.title) }
            if localized.body == nil { out.member("body", content.body) }
            out.member("image", content.imageURL)
        }
    }

    private static func writeAndroid(
        _ content: PushNotification, _ localized: LocalizedTexts, badge: Int32?, ttl: UInt64?,
        isShown: Bool, config: Config, to out: inout JSONWriter
    ) {
        out.key("android")
        out.object { out in
            if config.hasCollapseKey { out.member("collapse_key", content.collapse) }
            out.member("priority", content.priority == .high ? "HIGH" : "NORMAL")
            if let ttl { out.member("ttl", "\(ttl)s") }
            guard isShown else { return }
            out.key("notification")
            out.object { out in
                for (field, text) in [("title", localized.title), ("body", localized.body)] {
                    guard let text else { continue }
                    out.member("\(field)_loc_key", text.key)
                    out.strings("\(field)_loc_args", text.arguments)
                }
                out.member("sound", content.sound)
                out.member("tag", content.collapse)
                out.member("click_action", content.category)
                out.member("channel_id", config.androidChannel)
                if let badge {
                    out.member("notification_count", badge)
                }
            }
        }
    }

    private static func writeAPNs(
        _ content: PushNotification, _ localized: LocalizedTexts, badge: Int32?,
        deadlineUnixMs: UInt64, to out: inout JSONWriter
    ) {
        out.key("apns")
        out.object { out in
            out.key("headers")
            out.object { out in
                let isUnseen = content.isSilent || content.isWithdrawn
                let priority = isUnseen ? 5 : (content.priority ?? .high).rawValue
                out.member("apns-priority", String(priority))
                out.member("apns-push-type", isUnseen ? "background" : "alert")
                if deadlineUnixMs > 0 {
                    out.member("apns-expiration", String(deadlineUnixMs / 1000))
                }
                out.member("apns-collapse-id", CollapseKey.shortened(content.collapse))
            }
            out.key("payload")
            out.object { out in
                out.key("aps")
                out.object { out in writeAPS(content, localized, badge: badge, to: &out) }
                guard content.isWithdrawn else { return }
                out.key("signalbox")
                out.object { $0.member("withdraw", CollapseKey.shortened(content.collapse)) }
            }
        }
    }

    private static func writeAPS(
        _ content: PushNotification, _ localized: LocalizedTexts, badge: Int32?,
        to out: inout JSONWriter
    ) {
        guard !content.isSilent, !content.isWithdrawn else {
            out.member("content-available", 1)
            return
        }
        let hasText = !content.title.isEmpty || !content.body.isEmpty
        if content.isDataOnly && hasText || !content.subtitle.isEmpty || !localized.isEmpty {
            // iOS shows nothing from data, so the alert is written in full.
            out.key("alert")
            out.object { out in localized.writeAlert(of: content, to: &out) }
        }
        if let badge {
            out.member("badge", badge)
        }
        out.member("sound", content.sound)
        out.member("thread-id", content.thread)
        out.member("category", content.category)
        if content.isMutable || !content.imageURL.isEmpty {
            out.member("mutable-content", 1)
        }
    }

    private static func writeWebPush(
        _ content: PushNotification, ttl: UInt64?, to out: inout JSONWriter
    ) {
        out.key("webpush")
        out.object { out in
            out.key("headers")
            out.object { out in
                if let ttl { out.member("TTL", String(ttl)) }
                out.member("Urgency", content.priority == .high ? "high" : "normal")
            }
            guard content.link.hasPrefix("https://") else { return }
            out.key("fcm_options")
            out.object { out in out.member("link", content.link) }
        }
    }
}
