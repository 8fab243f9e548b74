/// Normalizes device tokens, so that each token has one spelling.
///
/// All tokens go through here: those of the API, of plugins' events and changes, and of providers'
/// answers. So a device is found however its token is written.
public enum DeviceToken {
    /// Platforms that use APNs unless the device names a provider.
    private static let applePlatforms: Set = [
        "ios", "ipados", "macos", "tvos", "visionos", "watchos",
    ]

    /// Whether a device's token is an APNs token.
    static func isAPNs(platform: String, provider: String) -> Bool {
        provider == "apns" || provider.isEmpty && applePlatforms.contains(platform)
    }

    /// The normalized form of an APNs token: lower-case hexadecimal.
    ///
    /// Old apps register the description of an NSData, `<0a1b 2c3d>`, and some use upper case. A text that is not
    /// hexadecimal is returned unchanged: only the sender knows whether it can use it.
    public static func hexadecimal(_ token: String) -> String {
        // The common case, checked for each device of an event.
        var plain = token
        if plain.withUTF8({ unsafe isLowerHex($0) }) { return token }
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

    /// Whether a token from a request is that of a registered device; the request does not say
    /// the provider.
    public static func isSame(_ registered: String, named token: String) -> Bool {
        registered == token || registered == hexadecimal(token)
    }

    /// What makes a token invalid for every provider; nil if it is valid.
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

    /// Without an early exit, so that many bytes are checked in one step.
    private static func isLowerHex(_ bytes: UnsafeBufferPointer<UInt8>) -> Bool {
        var bad: UInt8 = 0
        for index in 0..<bytes.count {
            let byte = unsafe bytes[index]
            bad |= (byte &- 0x30 < 10 ? 0 : 1) & (byte &- 0x61 < 6 ? 0 : 1)
        }
        return bad == 0
    }

    private static func isLowerHex(_ byte: UInt8) -> Bool {
        (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte)
            || (UInt8(ascii: "a")...UInt8(ascii: "f")).contains(byte)
    }
}

extension Device {
    /// Whether platform or token is not in its normalized form.
    public var isMisspelled: Bool { hasCapitals || isTokenMisspelled }

    /// Routes name platforms in lower case, and some sources write `iOS`.
    private var hasCapitals: Bool {
        platform.utf8.contains { (UInt8(ascii: "A")...UInt8(ascii: "Z")).contains($0) }
    }

    private var isTokenMisspelled: Bool {
        DeviceToken.isAPNs(platform: platform, provider: provider)
            && DeviceToken.hexadecimal(token) != token
    }

    /// Normalizes platform and token; the source's spelling of the token is kept in `sourceToken`.
    public mutating func spell() {
        if hasCapitals { platform = platform.lowercased() }
        guard isTokenMisspelled else { return }
        if sourceToken.isEmpty { sourceToken = token }
        token = DeviceToken.hexadecimal(token)
    }

    /// Replaces the token.
    public mutating func replaceToken(_ new: String) {
        sourceToken = ""
        token = new
        spell()
    }
}
