/// The one spelling of a device's token.
///
/// Whatever names a device goes through here: the API, events and changes of plugins, and what providers
/// say of a token. So a device is one device, however its token is written.
public enum DeviceToken {
    /// Platforms whose devices get their pushes from APNs, if nothing else is said.
    private static let applePlatforms: Set = [
        "ios", "ipados", "macos", "tvos", "visionos", "watchos",
    ]

    /// Whether a device's token is one of APNs.
    static func isAPNs(platform: String, provider: String) -> Bool {
        provider == "apns" || provider.isEmpty && applePlatforms.contains(platform)
    }

    /// The spelling of an APNs token: hexadecimal in lower case.
    ///
    /// Old apps register the description of an NSData, `<0a1b 2c3d>`, and some write upper case. A text that is not
    /// hexadecimal stays as it is: only a sender knows whether it can use it.
    public static func hexadecimal(_ token: String) -> String {
        // Nearly all are as they should be, and each of an event's devices is looked at.
        var plain = token
        if plain.withUTF8({ unsafe $0.allSatisfy(isLowerHex) }) { return token }
        var out = ""
        out.reserveCapacity(token.utf8.count)
        for byte in token.utf8 {
            switch byte {
            case UInt8(ascii: " "), UInt8(ascii: "<"), UInt8(ascii: ">"): continue
            case UInt8(ascii: "A")...UInt8(ascii: "F"):
                out.unicodeScalars.append(Unicode.Scalar(byte | 0x20))
            case let byte where isLowerHex(byte): out.unicodeScalars.append(Unicode.Scalar(byte))
            default: return token
            }
        }
        return out.isEmpty ? token : out
    }

    /// Whether a token that somebody names is that of a device in the registry; the name says nothing of the
    /// provider.
    public static func isSame(_ registered: String, named token: String) -> Bool {
        registered == token || registered == hexadecimal(token)
    }

    /// What is wrong with a token for any provider; nil: nothing.
    public static func fault(_ token: String) -> String? {
        if token.isEmpty { return "is required" }
        if token.utf8.count > DeviceRules.tokenBytesMax {
            return "is over \(DeviceRules.tokenBytesMax) bytes"
        }
        if token.utf8.contains(where: { $0 <= 0x20 || $0 == 0x7F }) {
            return "must have no spaces and no control characters"
        }
        return nil
    }

    private static func isLowerHex(_ byte: UInt8) -> Bool {
        (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte)
            || (UInt8(ascii: "a")...UInt8(ascii: "f")).contains(byte)
    }
}

extension Device {
    /// The token is written in another way than the registry does.
    public var isTokenMisspelled: Bool {
        DeviceToken.isAPNs(platform: platform, provider: provider)
            && DeviceToken.hexadecimal(token) != token
    }

    /// Gives the token its one spelling; its source's own stays in `sourceToken`.
    public mutating func spellToken() {
        guard isTokenMisspelled else { return }
        if sourceToken.isEmpty { sourceToken = token }
        token = DeviceToken.hexadecimal(token)
    }

    /// Takes another token.
    public mutating func replaceToken(_ new: String) {
        sourceToken = ""
        token = new
        spellToken()
    }
}
