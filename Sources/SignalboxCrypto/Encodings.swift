/// Base64 of RFC 4648, in the standard or the URL alphabet.
public enum Base64 {
    private static let standard = Array(
        "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/".utf8)
    private static let url = Array(
        "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_".utf8)

    /// Encodes bytes. The standard form has padding, the URL form has none.
    public static func encode(_ bytes: some Sequence<UInt8>, url isURL: Bool = false) -> String {
        let alphabet = isURL ? url : standard
        var out: [UInt8] = []
        var buffer: UInt32 = 0
        var bits = 0
        for byte in bytes {
            buffer = buffer << 8 | UInt32(byte)
            bits += 8
            while bits >= 6 {
                bits -= 6
                out.append(alphabet[Int(buffer >> UInt32(bits) & 63)])
            }
        }
        if bits > 0 { out.append(alphabet[Int(buffer << UInt32(6 - bits) & 63)]) }
        while !isURL, out.count % 4 != 0 { out.append(UInt8(ascii: "=")) }
        return String(decoding: out, as: UTF8.self)
    }

    /// Decodes either alphabet, with or without padding; nil if malformed.
    public static func decode(_ text: some StringProtocol) -> [UInt8]? {
        var out: [UInt8] = []
        var buffer: UInt32 = 0
        var bits = 0
        var padding = 0
        for character in text.utf8 {
            let value: UInt32
            switch character {
            case UInt8(ascii: "A")...UInt8(ascii: "Z"): value = UInt32(character) - 65
            case UInt8(ascii: "a")...UInt8(ascii: "z"): value = UInt32(character) - 71
            case UInt8(ascii: "0")...UInt8(ascii: "9"): value = UInt32(character) + 4
            case UInt8(ascii: "+"), UInt8(ascii: "-"): value = 62
            case UInt8(ascii: "/"), UInt8(ascii: "_"): value = 63
            case UInt8(ascii: "="):
                padding += 1
                continue
            default: return nil
            }
            guard padding == 0 else { return nil }
            buffer = buffer << 6 | value
            bits += 6
            if bits >= 8 {
                bits -= 8
                out.append(UInt8(truncatingIfNeeded: buffer >> UInt32(bits)))
            }
        }
        guard bits < 6, padding < 3 else { return nil }
        return out
    }

    /// Decodes the one URL form that `encode` makes of the bytes, as RFC 7515 wants: two texts are never the same bytes.
    public static func decode(canonicalURL text: some StringProtocol) -> [UInt8]? {
        decode(text).flatMap {
            encode($0, url: true).utf8.elementsEqual(text.utf8) ? $0 : nil
        }
    }
}

/// Hexadecimal digits.
public enum Hex {
    /// Encodes each byte as two lower-case digits.
    public static func encode(_ bytes: some Sequence<UInt8>) -> String {
        let digits = Array("0123456789abcdef".utf8)
        var out: [UInt8] = []
        for byte in bytes {
            out.append(digits[Int(byte >> 4)])
            out.append(digits[Int(byte & 15)])
        }
        return String(decoding: out, as: UTF8.self)
    }

    /// Decodes digits of either case; nil if malformed.
    public static func decode(_ text: some StringProtocol) -> [UInt8]? {
        let digits = Array(text.utf8)
        guard digits.count % 2 == 0 else { return nil }
        var out: [UInt8] = []
        for index in stride(from: 0, to: digits.count, by: 2) {
            guard let high = value(digits[index]), let low = value(digits[index + 1]) else {
                return nil
            }
            out.append(high << 4 | low)
        }
        return out
    }

    private static func value(_ digit: UInt8) -> UInt8? {
        switch digit {
        case UInt8(ascii: "0")...UInt8(ascii: "9"): digit - 48
        case UInt8(ascii: "a")...UInt8(ascii: "f"): digit - 87
        case UInt8(ascii: "A")...UInt8(ascii: "F"): digit - 55
        default: nil
        }
    }
}
