/// Makes the UUIDs by which a provider recognizes a delivery on every attempt.
public struct StableIDs: Sendable {
    private var state: (UInt64, UInt64)

    /// Seeds the sequence; two gateways must not share a seed.
    public init(seed: (UInt64, UInt64)) { state = seed }

    /// A lower-case version 4 UUID.
    public mutating func next() -> String {
        var high = Self.step(&state.0)
        var low = Self.step(&state.1) ^ high.byteSwapped
        high = (high & 0xffff_ffff_ffff_0fff) | 0x4000
        low = (low & 0x3fff_ffff_ffff_ffff) | 0x8000_0000_0000_0000
        return unsafe String(unsafeUninitializedCapacity: 36) { text in
            let raw = UnsafeMutableRawBufferPointer(text)
            let parts = (
                Self.digits(high >> 32), Self.digits(high), Self.digits(low >> 32),
                Self.digits(low)
            )
            // Groups of 8, 4, 4, 4 and 12 digits; each store writes eight bytes, and the next one
            // overwrites those that are not its own.
            unsafe raw.storeBytes(of: parts.0, toByteOffset: 0, as: UInt64.self)
            unsafe raw.storeBytes(of: parts.1, toByteOffset: 9, as: UInt64.self)
            unsafe raw.storeBytes(of: parts.1 >> 32, toByteOffset: 14, as: UInt64.self)
            unsafe raw.storeBytes(of: parts.2, toByteOffset: 19, as: UInt64.self)
            unsafe raw.storeBytes(of: parts.2 >> 32, toByteOffset: 24, as: UInt64.self)
            unsafe raw.storeBytes(of: parts.3, toByteOffset: 28, as: UInt64.self)
            unsafe text[8] = UInt8(ascii: "-")
            unsafe text[13] = UInt8(ascii: "-")
            unsafe text[18] = UInt8(ascii: "-")
            unsafe text[23] = UInt8(ascii: "-")
            return 36
        }
    }

    /// Splits off the next `count` UUIDs; this sequence continues after them.
    public mutating func take(_ count: Int) -> StableIDs {
        let own = self
        let steps = UInt64(count) &* Self.stride
        state = (state.0 &+ steps, state.1 &+ steps)
        return own
    }

    private static let stride: UInt64 = 0x9e37_79b9_7f4a_7c15

    /// SplitMix64: every state gives a different value, so a sequence does not repeat within 2^64.
    private static func step(_ state: inout UInt64) -> UInt64 {
        state &+= stride
        var z = state
        z = (z ^ (z >> 30)) &* 0xbf58_476d_1ce4_e5b9
        z = (z ^ (z >> 27)) &* 0x94d0_49bb_1331_11eb
        return z ^ (z >> 31)
    }

    /// The eight hexadecimal digits of the lower half, the first one in the lowest byte.
    private static func digits(_ value: UInt64) -> UInt64 {
        // One digit in each byte, first in the order of the number.
        var spread = value & 0xffff_ffff
        spread = (spread | spread << 16) & 0x0000_ffff_0000_ffff
        spread = (spread | spread << 8) & 0x00ff_00ff_00ff_00ff
        spread = (spread | spread << 4) & 0x0f0f_0f0f_0f0f_0f0f
        // 1 in each byte that needs a letter.
        let letters = (spread &+ 0x0606_0606_0606_0606) >> 4 & 0x0101_0101_0101_0101
        return (spread &+ 0x3030_3030_3030_3030 &+ letters &* 0x27).byteSwapped
    }
}
