/// One installation of one app: where a push can go.
///
/// Mirrors `sbx_device`. Empty text means "not given". A value behind one reference, since it is handed on from
/// queue to queue with its deliveries; a change makes a new one.
public struct Device: Sendable, Hashable {
    private var box: Box

    /// Bundle id or project; empty: the default app of whoever sends.
    public var app: String {
        get { box.app }
        set { box = box.with { $0.app = newValue } }
    }
    /// `ios`, `android`, `huawei`, `web`, ...: chooses the sender in a route.
    public var platform: String {
        get { box.platform }
        set { box = box.with { $0.platform = newValue } }
    }
    /// `apns`, `fcm`, ...; empty: follows from the platform.
    public var provider: String {
        get { box.provider }
        set { box = box.with { $0.provider = newValue } }
    }
    /// The token, fit for the provider.
    ///
    /// Never logged.
    public var token: String {
        get { box.token }
        set { box = box.with { $0.token = newValue } }
    }
    /// The token exactly as the source delivered it; empty: same as `token`.
    ///
    /// Never logged.
    public var sourceToken: String {
        get { box.sourceToken }
        set { box = box.with { $0.sourceToken = newValue } }
    }
    /// The source's user id.
    public var user: String {
        get { box.user }
        set { box = box.with { $0.user = newValue } }
    }
    /// BCP 47, `de-AT`.
    public var locale: String {
        get { box.locale }
        set { box = box.with { $0.locale = newValue } }
    }
    /// When it was registered, in Unix milliseconds; 0: unknown.
    public var registeredUnixMs: UInt64 {
        get { box.registeredUnixMs }
        set { box = box.with { $0.registeredUnixMs = newValue } }
    }
    /// What its registration said beside; the registry keeps them.
    public var attributes: [Attribute] {
        get { box.attributes }
        set { box = box.with { $0.attributes = newValue } }
    }

    /// Makes a device; everything but the token may be left out.
    public init(
        app: String = "", platform: String = "", provider: String = "", token: String = "",
        sourceToken: String = "", user: String = "", locale: String = "",
        registeredUnixMs: UInt64 = 0, attributes: [Attribute] = []
    ) {
        box = Box(
            Fields(
                app: app, platform: platform, provider: provider, token: token,
                sourceToken: sourceToken, user: user, locale: locale,
                registeredUnixMs: registeredUnixMs, attributes: attributes))
    }

    private struct Fields: Sendable, Hashable {
        var app: String
        var platform: String
        var provider: String
        var token: String
        var sourceToken: String
        var user: String
        var locale: String
        var registeredUnixMs: UInt64
        var attributes: [Attribute]
    }

    /// Never changes, so that reading it needs no check of who else does.
    private final class Box: Sendable, Hashable {
        let app: String
        let platform: String
        let provider: String
        let token: String
        let sourceToken: String
        let user: String
        let locale: String
        let registeredUnixMs: UInt64
        let attributes: [Attribute]

        init(_ fields: Fields) {
            app = fields.app
            platform = fields.platform
            provider = fields.provider
            token = fields.token
            sourceToken = fields.sourceToken
            user = fields.user
            locale = fields.locale
            registeredUnixMs = fields.registeredUnixMs
            attributes = fields.attributes
        }

        var fields: Fields {
            Fields(
                app: app, platform: platform, provider: provider, token: token,
                sourceToken: sourceToken, user: user, locale: locale,
                registeredUnixMs: registeredUnixMs, attributes: attributes)
        }

        func with(_ change: (inout Fields) -> Void) -> Box {
            var fields = fields
            change(&fields)
            return Box(fields)
        }

        static func == (a: Box, b: Box) -> Bool { a === b || a.fields == b.fields }

        func hash(into hasher: inout Hasher) { fields.hash(into: &hasher) }
    }
}

extension Device: CustomStringConvertible {
    /// Names the device without its token.
    public var description: String { "device(\(platform), app: \(app), token: <redacted>)" }
}
