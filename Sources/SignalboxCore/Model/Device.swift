/// One installation of one app: where a push can go.
///
/// Mirrors `sbx_device`. Empty text means "not given". A value behind one reference, since it is handed on from
/// queue to queue with its deliveries; a change makes a new one.
public struct Device: Sendable, Hashable {
    private var box: Shared<Fields>

    /// Bundle id or project; empty: the default app of whoever sends.
    public var app: String {
        get { box.fields.app }
        set { box = box.with(\.app, newValue) }
    }
    /// `ios`, `android`, `huawei`, `web`, ...: chooses the sender in a route.
    public var platform: String {
        get { box.fields.platform }
        set { box = box.with(\.platform, newValue) }
    }
    /// `apns`, `fcm`, ...; empty: follows from the platform.
    public var provider: String {
        get { box.fields.provider }
        set { box = box.with(\.provider, newValue) }
    }
    /// The token, fit for the provider.
    ///
    /// Never logged.
    public var token: String {
        get { box.fields.token }
        set { box = box.with(\.token, newValue) }
    }
    /// The token exactly as the source delivered it; empty: same as `token`.
    ///
    /// Never logged.
    public var sourceToken: String {
        get { box.fields.sourceToken }
        set { box = box.with(\.sourceToken, newValue) }
    }
    /// The source's user id.
    public var user: String {
        get { box.fields.user }
        set { box = box.with(\.user, newValue) }
    }
    /// BCP 47, `de-AT`.
    public var locale: String {
        get { box.fields.locale }
        set { box = box.with(\.locale, newValue) }
    }
    /// When it was registered, in Unix milliseconds; 0: unknown.
    public var registeredUnixMs: UInt64 {
        get { box.fields.registeredUnixMs }
        set { box = box.with(\.registeredUnixMs, newValue) }
    }
    /// What its registration said beside; the registry keeps them.
    public var attributes: [Attribute] {
        get { box.fields.attributes }
        set { box = box.with(\.attributes, newValue) }
    }

    /// Makes a device; everything but the token may be left out.
    public init(
        app: String = "", platform: String = "", provider: String = "", token: String = "",
        sourceToken: String = "", user: String = "", locale: String = "",
        registeredUnixMs: UInt64 = 0, attributes: [Attribute] = []
    ) {
        box = Shared(
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

    /// The same device with the same fields.
    public static func == (a: Device, b: Device) -> Bool {
        a.box === b.box || a.box.fields == b.box.fields
    }

    /// Hashes all fields.
    public func hash(into hasher: inout Hasher) { box.fields.hash(into: &hasher) }
}

extension Device: CustomStringConvertible {
    /// Names the device without its token.
    public var description: String { "device(\(platform), app: \(app), token: <redacted>)" }
}
