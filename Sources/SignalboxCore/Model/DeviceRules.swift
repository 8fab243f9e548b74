/// Limits that apply to every device.
public enum DeviceRules {
    /// Most tokens of one kind that a user keeps; the oldest are removed first.
    public static let tokensMax = 20
    /// Most tokens of all kinds that a user of an app keeps: a client may invent kinds when it registers.
    public static let devicesMax = 100
    /// Longest token, in bytes.
    public static let tokenBytesMax = 4_096
    /// Longest name of a user, app, platform or provider, in bytes.
    public static let nameBytesMax = 256
    /// Most attributes of a device.
    public static let attributesMax = 16
    /// How long an app counts as in front of its user by default, in seconds.
    public static let presenceSeconds: Int64 = 120
    /// Values that an app may send instead.
    public static let presenceSecondsAllowed: ClosedRange<Int64> = 10...86_400
    /// Longest name or value of an attribute, in bytes.
    public static let attributeBytesMax = 256

    /// Free of control characters, which logs and exports of the registry would take for their own.
    public static func isPlain(_ text: String) -> Bool {
        text.utf8.allSatisfy { $0 >= 0x20 && $0 != 0x7F }
    }
}
