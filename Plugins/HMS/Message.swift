import SignalboxPluginKit

/// The JSON that deliveries of one content share: before and after the token.
struct Message: Sendable {
    /// 15 days.
    private static let ttlMaxSeconds: UInt64 = 1_296_000

    /// How long Huawei may keep a message for a device that is offline.
    static func ttl(deadlineUnixMs: UInt64, _ host: Host) -> UInt64? {
        guard deadlineUnixMs > 0 else { return nil }
        let now = host.nowUnixMs
        let leftMs = deadlineUnixMs > now ? deadlineUnixMs - now : 1
        return min((leftMs + 999) / 1000, ttlMaxSeconds)
    }

    let head: [UInt8]
    let tail: [UInt8]
    /// Whether Huawei only checks it.
    let isDryRun: Bool
    /// Value of the header `push-type` in API v3; nil in others.
    var pushType: String?

    init(head: [UInt8], tail: [UInt8], pushType: String) {
        self.head = head
        self.tail = tail
        self.pushType = pushType
        isDryRun = false
    }

    init(
        _ content: PushNotification, badge: Int32?, deadlineUnixMs: UInt64, config: Config,
        host: Host
    ) throws(Outcome) {
        guard let localized = try? LocalizedTexts(content, host) else { throw .malformedData }
        let hasText =
            !content.title.isEmpty || !content.body.isEmpty || localized.title != nil
            || localized.body != nil
        let isShown =
            hasText && !content.isDataOnly && !content.isSilent && !content.isDryRun
            && !content.isWithdrawn
        let pairs = try content.textData(
            withdrawing: content.collapse,
            hasTexts: !isShown && !content.isSilent && !content.isDryRun, localized, host)
        let ttl = Self.ttl(deadlineUnixMs: deadlineUnixMs, host)
        let isQuickApp = config.quickAppTarget != nil
        var message = JSONWriter()
        message.object { out in
            if isShown, !isQuickApp { Shown.writeTexts(content, localized, to: &out) }
            // A message without a notification needs data, if only an empty object.
            if isQuickApp {
                out.key("data")
                Data.writeQuickApp(pairs, of: content, isShown: isShown, to: &out)
            } else if !pairs.isEmpty || !isShown {
                out.key("data")
                Data.write(pairs, to: &out)
            }
            out.key("android")
            out.object { out in
                if config.hasCollapseKey, !content.collapse.isEmpty {
                    out.member("collapse_key", Self.group(of: content.collapse))
                }
                if config.hasHighPriority, !isShown, content.priority == .high {
                    out.member("urgency", "HIGH")
                }
                out.member("category", config.category)
                if let ttl { out.member("ttl", "\(ttl)s") }
                if let target = config.quickAppTarget {
                    out.member("fast_app_target", target)
                }
                guard isShown, !isQuickApp else { return }
                Shown.write(
                    content, localized, badge: badge ?? content.badge, config: config, to: &out)
            }
        }
        guard let merged = try? content.overridden(message, family: "hms", host),
            let whole = try? host.parse(merged.bytes.span)
        else { throw .malformedData }
        guard let bytes = try? Limit.fitted(Self.withDataAsText(whole), of: content, host) else {
            throw .tooLarge
        }
        isDryRun = config.isValidateOnly || content.isDryRun
        let prefix = isDryRun ? "{\"validate_only\":true," : "{"
        head = Array("\(prefix)\"message\":{\"token\":[\"".utf8)
        // The object without its opening brace follows the token.
        let isEmpty = bytes.count <= 2
        tail = Array((isEmpty ? "\"]" : "\"],").utf8) + bytes.dropFirst() + [UInt8(ascii: "}")]
    }

    /// Huawei has 100 groups for waiting messages; equal keys share one.
    static func group(of key: String) -> UInt64 {
        var print = Fingerprint()
        print.add(key)
        return (UInt64(print.text, radix: 16) ?? 0) % 100 + 1
    }

    /// The message with its data as JSON text. Until then it is an object, so that overrides can name its members.
    private static func withDataAsText(_ message: JSON) -> [UInt8] {
        func write(_ json: JSON, isAndroid: Bool, to out: inout JSONWriter) {
            out.object { out in
                for (key, value) in json.members {
                    out.key(key)
                    switch (key, value.kind) {
                    case ("data", .object): out.string(value.text)
                    case ("android", .object): write(value, isAndroid: true, to: &out)
                    case ("notification", .object) where isAndroid: writeShown(value, to: &out)
                    default: out.value(value)
                    }
                }
            }
        }
        var out = JSONWriter()
        write(message, isAndroid: false, to: &out)
        return out.bytes
    }

    /// A notification may come from overrides alone; Huawei requires to know what a tap opens.
    private static func writeShown(_ notification: JSON, to out: inout JSONWriter) {
        out.object { out in
            for (key, value) in notification.members {
                out.key(key)
                out.value(value)
            }
            guard notification["click_action"] == nil else { return }
            out.key("click_action")
            out.raw(#"{"type":3}"#)
        }
    }
}
