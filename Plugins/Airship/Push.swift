import SignalboxPluginKit

/// The JSON that deliveries of one content share: what follows the audience.
struct Push: Sendable {
    let tail: [UInt8]
    /// Whether Airship only checks it.
    let isDryRun: Bool

    init(
        _ content: PushNotification, badge: Int32?, platform: String, deadlineUnixMs: UInt64,
        config: Config, host: Host
    ) throws(Outcome) {
        guard let localized = try? LocalizedTexts(content, host) else { throw .malformedData }
        var extras: JSON?
        if !content.data.isEmpty {
            guard let json = try? host.parse(content.data.utf8.span), json.kind == .object else {
                throw .malformedData
            }
            extras = json
        }
        var left: UInt64?
        if deadlineUnixMs > 0 {
            let now = host.nowUnixMs
            left = deadlineUnixMs > now ? (deadlineUnixMs - now + 999) / 1000 : 1
        }
        let part = PlatformPart(
            content: content, localized: localized, extras: extras, secondsLeft: left,
            badge: badge ?? content.badge, androidChannel: config.androidChannel)
        var rest = JSONWriter()
        rest.object { out in
            out.key("device_types")
            if let type = Self.deviceType(platform) {
                out.array { $0.string(type) }
            } else {
                out.string("all")
            }
            out.key("notification")
            out.object { out in
                if part.isShown { out.member("alert", part.alert) }
                switch platform {
                case "ios": part.writeIOS(to: &out)
                case "android", "huawei", "amazon": part.writeAndroid(platform, to: &out)
                case "web": part.writeWeb(to: &out)
                default:
                    // A named user's channels may be of any kind.
                    part.writeIOS(to: &out)
                    part.writeAndroid("android", to: &out)
                }
            }
        }
        guard let whole = try? content.overridden(rest, family: "airship", host) else {
            throw .malformedData
        }
        guard
            let bytes = try? Limit.fitted(whole.bytes, of: content, platform: platform, host)
        else { throw .tooLarge }
        isDryRun = config.isValidateOnly || content.isDryRun
        // The object without its opening brace follows the audience.
        tail = Array("\"},".utf8) + bytes.dropFirst()
    }

    /// Airship's name of a platform; nil for any.
    private static func deviceType(_ platform: String) -> String? {
        switch platform {
        case "ios", "android", "amazon", "web": platform
        // Airship delivers to Huawei phones as Android devices.
        case "huawei": "android"
        default: nil
        }
    }
}
