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
            var at = 0
            for place in 0..<32 {
                // Groups of 8, 4, 4, 4 and 12 digits.
                if at == 8 || at == 13 || at == 18 || at == 23 {
                    unsafe text[at] = UInt8(ascii: "-")
                    at += 1
                }
                let word = place < 16 ? high : low
                unsafe text[at] = Self.digit(word &>> UInt64(60 - place % 16 * 4))
                at += 1
            }
            return at
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

    private static func digit(_ value: UInt64) -> UInt8 {
        let digit = UInt8(truncatingIfNeeded: value) & 15
        return digit < 10 ? UInt8(ascii: "0") + digit : UInt8(ascii: "a") + digit - 10
    }
}
