/// A short fingerprint of text: FNV-1a, 64 bits, as 16 hexadecimal digits.
///
/// Good for keys that group things, but no protection against forgery.
public struct Fingerprint: Sendable {
    private var state: UInt64 = 0xcbf2_9ce4_8422_2325

    /// An empty fingerprint.
    public init() {}

    /// Adds text, separated from the next.
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
