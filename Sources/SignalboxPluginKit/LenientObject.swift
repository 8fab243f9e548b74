extension Host {
    /// The object that a member holds: as an object, as JSON text, or as base64 of JSON text; nil: it is
    /// none of these.
    ///
    /// Sources hand the same field on in all three forms.
    public func object(in value: JSON?) -> JSON? {
        guard let value else { return nil }
        if value.kind == .object { return value }
        guard let text = value.string, !text.isEmpty else { return nil }
        if let json = try? parse(text.utf8.span), json.kind == .object { return json }
        guard let bytes = Base64URL.decode(text), let json = try? parse(bytes.span),
            json.kind == .object
        else { return nil }
        return json
    }
}

extension Base64URL {
    /// Decodes the URL alphabet and the plain one, with or without padding; nil: it is malformed.
    public static func decode(_ text: some StringProtocol) -> [UInt8]? {
        var out: [UInt8] = []
        var buffer: UInt32 = 0
        var bits: UInt32 = 0
        var padding = 0
        for byte in text.utf8 {
            let value: UInt32
            switch byte {
            case UInt8(ascii: "A")...UInt8(ascii: "Z"): value = UInt32(byte) - 65
            case UInt8(ascii: "a")...UInt8(ascii: "z"): value = UInt32(byte) - 71
            case UInt8(ascii: "0")...UInt8(ascii: "9"): value = UInt32(byte) + 4
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
                out.append(UInt8(truncatingIfNeeded: buffer >> bits))
            }
        }
        return bits < 6 && padding < 3 ? out : nil
    }
}

/// Hexadecimal digits.
public enum Hex {
    /// Two lower-case digits a byte.
    public static func encode(_ bytes: some Sequence<UInt8>) -> String {
        let digits = Array("0123456789abcdef".utf8)
        var out: [UInt8] = []
        for byte in bytes {
            out.append(digits[Int(byte >> 4)])
            out.append(digits[Int(byte & 15)])
        }
        return String(decoding: out, as: UTF8.self)
    }

    /// Decodes digits of either case; nil: it is malformed.
    public static func decode(_ text: some StringProtocol) -> [UInt8]? {
        var out: [UInt8] = []
        var high: UInt8?
        for byte in text.utf8 {
            let value: UInt8
            switch byte {
            case UInt8(ascii: "0")...UInt8(ascii: "9"): value = byte - 48
            case UInt8(ascii: "a")...UInt8(ascii: "f"): value = byte - 87
            case UInt8(ascii: "A")...UInt8(ascii: "F"): value = byte - 55
            default: return nil
            }
            if let first = high {
                out.append(first << 4 | value)
                high = nil
            } else {
                high = value
            }
        }
        return high == nil ? out : nil
    }
}

/// Percent-encoding of one path segment (RFC 3986).
public enum PathSegment {
    /// Encodes everything but letters, digits, `-`, `.`, `_` and `~`.
    public static func encode(_ text: String) -> String {
        // These two would lead to another path.
        if text == "." || text == ".." { return text.map { _ in "%2E" }.joined() }
        var out: [UInt8] = []
        for byte in text.utf8 {
            switch byte {
            case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
                UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "-"), UInt8(ascii: "."),
                UInt8(ascii: "_"), UInt8(ascii: "~"):
                out.append(byte)
            default:
                out.append(UInt8(ascii: "%"))
                out.append(contentsOf: Hex.encode([byte]).uppercased().utf8)
            }
        }
        return String(decoding: out, as: UTF8.self)
    }
}
