/// The hash of an event's source and dedupe key: SipHash-2-4 with 128 bits and a key per database.
///
/// Two events collide by chance once in 2^128, and outsiders cannot provoke it.
public struct SeenKey: Sendable, Hashable, Comparable {
    /// The first eight bytes.
    public var high: UInt64
    /// The last eight bytes.
    public var low: UInt64

    /// The order of their bytes.
    public static func < (a: SeenKey, b: SeenKey) -> Bool { (a.high, a.low) < (b.high, b.low) }

    /// Big-endian, so that their order is that of the keys.
    public func append(to bytes: inout [UInt8]) {
        unsafe withUnsafeBytes(of: high.bigEndian) { unsafe bytes.append(contentsOf: $0) }
        unsafe withUnsafeBytes(of: low.bigEndian) { unsafe bytes.append(contentsOf: $0) }
    }

    /// Its bytes.
    public var bytes: [UInt8] {
        var bytes: [UInt8] = []
        bytes.reserveCapacity(16)
        append(to: &bytes)
        return bytes
    }

    /// From its halves.
    public init(high: UInt64, low: UInt64) {
        self.high = high
        self.low = low
    }

    /// The first sixteen bytes.
    public init(_ bytes: UnsafeRawBufferPointer) {
        high = unsafe UInt64(bigEndian: bytes.loadUnaligned(as: UInt64.self))
        low = unsafe UInt64(bigEndian: bytes.loadUnaligned(fromByteOffset: 8, as: UInt64.self))
    }

    /// Hashes two texts, separated by a byte that neither contains.
    public init(seed: (UInt64, UInt64), _ source: String, _ dedupe: String) {
        let count = source.utf8.count + 1 + dedupe.utf8.count
        self = unsafe withUnsafeTemporaryAllocation(byteCount: count, alignment: 8) { room in
            var end = 0
            func put(_ part: String) {
                var part = part
                part.withUTF8 {
                    unsafe room[end...].copyBytes(from: $0)
                    end += $0.count
                }
            }
            put(source)
            unsafe room[end] = 0
            end += 1
            put(dedupe)
            return unsafe Self.hash(UnsafeRawBufferPointer(room), seed: seed)
        }
    }

    /// SipHash-2-4, 128 bits (Aumasson, Bernstein).
    public static func hash(_ bytes: UnsafeRawBufferPointer, seed: (UInt64, UInt64)) -> SeenKey {
        var state = SipState(seed)
        let whole = bytes.count & ~7
        for start in stride(from: 0, to: whole, by: 8) {
            state.absorb(
                unsafe UInt64(
                    littleEndian: bytes.loadUnaligned(fromByteOffset: start, as: UInt64.self)))
        }
        var last = UInt64(truncatingIfNeeded: bytes.count) << 56
        for place in whole..<bytes.count {
            last |= unsafe UInt64(bytes[place]) << UInt64((place - whole) * 8)
        }
        state.absorb(last)
        return state.finish()
    }
}

private struct SipState {
    private var a: UInt64
    private var b: UInt64
    private var c: UInt64
    private var d: UInt64

    init(_ seed: (UInt64, UInt64)) {
        a = seed.0 ^ 0x736f_6d65_7073_6575
        b = seed.1 ^ 0x646f_7261_6e64_6f6d ^ 0xee
        c = seed.0 ^ 0x6c79_6765_6e65_7261
        d = seed.1 ^ 0x7465_6462_7974_6573
    }

    mutating func absorb(_ word: UInt64) {
        d ^= word
        round()
        round()
        a ^= word
    }

    mutating func finish() -> SeenKey {
        c ^= 0xee
        for _ in 0..<4 { round() }
        let first = a ^ b ^ c ^ d
        b ^= 0xdd
        for _ in 0..<4 { round() }
        return SeenKey(high: first.byteSwapped, low: (a ^ b ^ c ^ d).byteSwapped)
    }

    private mutating func round() {
        a &+= b
        b = Self.rotated(b, 13) ^ a
        a = Self.rotated(a, 32)
        c &+= d
        d = Self.rotated(d, 16) ^ c
        a &+= d
        d = Self.rotated(d, 21) ^ a
        c &+= b
        b = Self.rotated(b, 17) ^ c
        c = Self.rotated(c, 32)
    }

    private static func rotated(_ word: UInt64, _ count: UInt64) -> UInt64 {
        word << count | word >> (64 - count)
    }
}
