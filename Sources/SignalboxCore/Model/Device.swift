/// One installation of one app: where a push can go.
///
/// Mirrors `sbx_device`. Empty text means "not given".
public struct Device: Sendable, Hashable {
    /// Bundle id or project; empty: the default app of whoever sends.
    public var app: String
    /// `ios`, `android`, `huawei`, `web`, ...: chooses the sender in a route.
    public var platform: String
    /// `apns`, `fcm`, ...; empty: follows from the platform.
    public var provider: String
    /// The token, fit for the provider.
    ///
    /// Never logged.
    public var token: String
    /// The token exactly as the source delivered it; empty: same as `token`.
    ///
    /// Never logged.
    public var sourceToken: String
    /// The source's user id.
    public var user: String
    /// BCP 47, `de-AT`.
    public var locale: String
    /// When it was registered, in Unix milliseconds; 0: unknown.
    public var registeredUnixMs: UInt64
    /// What its registration said beside; the registry keeps them.
    public var attributes: [Attribute]

    /// Makes a device; everything but the token may be left out.
    public init(
        app: String = "", platform: String = "", provider: String = "", token: String = "",
        sourceToken: String = "", user: String = "", locale: String = "",
        registeredUnixMs: UInt64 = 0, attributes: [Attribute] = []
    ) {
        self.app = app
        self.platform = platform
        self.provider = provider
        self.token = token
        self.sourceToken = sourceToken
        self.user = user
        self.locale = locale
        self.registeredUnixMs = registeredUnixMs
        self.attributes = attributes
    }
}

extension Device: CustomStringConvertible {
    /// Names the device without its token.
    public var description: String { "device(\(platform), app: \(app), token: <redacted>)" }
}
