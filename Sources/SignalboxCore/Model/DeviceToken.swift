/// Normalizes device tokens, so that each token has one spelling.
///
/// All tokens go through here: those of the API, of plugins' events and changes, and of providers'
/// answers. So a device is found however its token is written.
public enum DeviceToken {
    /// Digits of the shortest token that a provider writes in hexadecimal.
    private static let digitsMin = 64

    /// The spelling under which a token is kept: lower-case hexadecimal if its form says that it is hexadecimal.
    ///
    /// Old apps register the description of an NSData, `<0a1b 2c3d>`, and some use upper case. A short text is left as
    /// it is: it may be a name.
    static func spelled(_ token: String) -> String {
        token.utf8.count >= digitsMin || token.utf8.first == UInt8(ascii: "<")
            ? hexadecimal(token) : token
    }

    /// A hexadecimal text in lower case, without the marks of an NSData; any other text is returned unchanged.
    public static func hexadecimal(_ token: String) -> String {
        // The common cases, checked for each device of an event.
        guard token.utf8.prefix(8).allSatisfy(isLoose) else { return token }
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

    private static func isLoose(_ byte: UInt8) -> Bool {
        isLowerHex(byte | 0x20) || byte == UInt8(ascii: "<") || byte == UInt8(ascii: ">")
            || byte == UInt8(ascii: " ")
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

    private var isTokenMisspelled: Bool { DeviceToken.spelled(token) != token }

    /// Normalizes platform and token; the source's spelling of the token is kept in `sourceToken`.
    public mutating func spell() {
        if hasCapitals { platform = platform.lowercased() }
        let spelled = DeviceToken.spelled(token)
        guard spelled != token else { return }
        if sourceToken.isEmpty { sourceToken = token }
        token = spelled
    }

    /// Replaces the token.
    public mutating func replaceToken(_ new: String) {
        sourceToken = ""
        token = new
        spell()
    }
}
