import SignalboxPluginKit

/// What a device's token names: a device or a Live Activity on one; or, as `channel:ID`, everybody who follows a
/// broadcast channel.
enum Audience {
    case token
    case channel(String)
    /// Apple would refuse it.
    case malformed

    private static let prefix = Array("channel:".utf8)

    /// `takesAnyToken`: a token may consist of any characters that are valid in a path, for simulators.
    init(_ token: Span<UInt8>, takesAnyToken: Bool) {
        if Self.isChannel(token) {
            let id = token.indices.dropFirst(Self.prefix.count).map { token[$0] }
            let text = String(decoding: id, as: UTF8.self)
            self = Self.isChannelID(text) ? .channel(text) : .malformed
        } else {
            self = Self.isToken(token, takesAnyToken: takesAnyToken) ? .token : .malformed
        }
    }

    private static func isChannel(_ token: Span<UInt8>) -> Bool {
        guard token.count >= prefix.count else { return false }
        for index in prefix.indices where token[index] != prefix[index] { return false }
        return true
    }

    /// Base64; Apple promises no length.
    static func isChannelID(_ text: String) -> Bool {
        (1...512).contains(text.utf8.count) && text.utf8.allSatisfy(isBase64)
    }

    private static func isBase64(_ byte: UInt8) -> Bool {
        isHex(byte) || isLetterBehindHex(byte) || "+/=-_".utf8.contains(byte)
    }

    private static func isToken(_ token: Span<UInt8>, takesAnyToken: Bool) -> Bool {
        guard !token.isEmpty, token.count <= 512 else { return false }
        for index in token.indices where !isHex(token[index]) {
            let isPlain =
                isLetterBehindHex(token[index]) || token[index] == UInt8(ascii: "-")
                || token[index] == UInt8(ascii: "_")
            guard takesAnyToken, isPlain else { return false }
        }
        return true
    }

    private static func isHex(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "a")...UInt8(ascii: "f"),
            UInt8(ascii: "A")...UInt8(ascii: "F"):
            true
        default: false
        }
    }

    private static func isLetterBehindHex(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "g")...UInt8(ascii: "z"), UInt8(ascii: "G")...UInt8(ascii: "Z"): true
        default: false
        }
    }
}
