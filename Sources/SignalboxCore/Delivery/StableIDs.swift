/// Makes the UUIDs by which a provider recognises a delivery on every attempt.
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
        let hex = Self.hex(high) + Self.hex(low)
        var text: [UInt8] = []
        text.reserveCapacity(36)
        for (index, digit) in hex.enumerated() {
            if index == 8 || index == 12 || index == 16 || index == 20 {
                text.append(UInt8(ascii: "-"))
            }
            text.append(digit)
        }
        return String(decoding: text, as: UTF8.self)
    }

    /// SplitMix64: every state gives another value, so a sequence never repeats within 2^64.
    private static func step(_ state: inout UInt64) -> UInt64 {
        state &+= 0x9e37_79b9_7f4a_7c15
        var z = state
        z = (z ^ (z >> 30)) &* 0xbf58_476d_1ce4_e5b9
        z = (z ^ (z >> 27)) &* 0x94d0_49bb_1331_11eb
        return z ^ (z >> 31)
    }

    private static func hex(_ value: UInt64) -> [UInt8] {
        (0..<16).map { index in
            let digit = UInt8(truncatingIfNeeded: value >> UInt64(60 - index * 4)) & 15
            return digit < 10 ? UInt8(ascii: "0") + digit : UInt8(ascii: "a") + digit - 10
        }
    }
}
