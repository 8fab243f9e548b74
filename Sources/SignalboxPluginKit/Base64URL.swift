/// Base64 for URLs and JOSE: `-` and `_`, no padding (RFC 4648, section 5).
public enum Base64URL {
    private static let digits = Array(
        "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_".utf8)

    /// Plain base64 with padding, as HTTP's Basic scheme wants it.
    public static func encodePadded(_ bytes: [UInt8]) -> String {
        var text = encode(bytes).map { $0 == "-" ? "+" : $0 == "_" ? "/" : $0 }
        while text.count % 4 != 0 { text.append("=") }
        return String(text)
    }

    /// Bytes as text.
    public static func encode(_ bytes: some Sequence<UInt8>) -> String {
        var out: [UInt8] = []
        var buffer: UInt32 = 0
        var bits: UInt32 = 0
        for byte in bytes {
            buffer = buffer << 8 | UInt32(byte)
            bits += 8
            while bits >= 6 {
                bits -= 6
                out.append(digits[Int(buffer >> bits & 63)])
            }
        }
        if bits > 0 { out.append(digits[Int(buffer << (6 - bits) & 63)]) }
        return String(decoding: out, as: UTF8.self)
    }
}

/// A short fingerprint of text: FNV-1a, 64 bits, as 16 hexadecimal digits.
///
/// Good for keys of things that belong together, not against forgers.
public struct Fingerprint: Sendable {
    private var state: UInt64 = 0xcbf2_9ce4_8422_2325

    /// Starts with nothing.
    public init() {}

    /// Takes text in, marked off from the next.
    public mutating func add(_ text: String) {
        var copy = text
        copy.withUTF8 { bytes in
            for byte in bytes { step(byte) }
        }
        step(0)
    }

    /// 16 digits.
    public var text: String {
        let digits = String(state, radix: 16)
        return String(repeating: "0", count: 16 - digits.count) + digits
    }

    private mutating func step(_ byte: UInt8) {
        state = (state ^ UInt64(byte)) &* 0x100_0000_01b3
    }
}
