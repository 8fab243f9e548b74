/// A mark for each delivery of a block.
public struct Marks: Sendable, Equatable {
    /// How many fit.
    public static let count = 256
    private var words = SIMD4<UInt64>()

    /// Nothing is marked.
    public init() {}

    /// From a row; bytes that are missing are not marked.
    public init(_ bytes: some Collection<UInt8>) {
        for (index, byte) in bytes.prefix(Self.count / 8).enumerated() {
            words[index >> 3] |= UInt64(byte) << UInt64((index & 7) * 8)
        }
    }

    /// For a row.
    public var bytes: [UInt8] {
        (0..<Self.count / 8).map {
            UInt8(truncatingIfNeeded: words[$0 >> 3] >> UInt64(($0 & 7) * 8))
        }
    }

    /// Whether a delivery is marked.
    public subscript(index: Int) -> Bool {
        get { words[index >> 6] & (1 << UInt64(index & 63)) != 0 }
        set {
            let bit: UInt64 = 1 << UInt64(index & 63)
            if newValue { words[index >> 6] |= bit } else { words[index >> 6] &= ~bit }
        }
    }

    /// How many are marked.
    public var marked: Int { (0..<4).reduce(0) { $0 + words[$1].nonzeroBitCount } }

    /// The marks in words, the first delivery's in the lowest bit of the first word.
    public var fourWords: (UInt64, UInt64, UInt64, UInt64) {
        (words[0], words[1], words[2], words[3])
    }

    /// From words.
    public init(_ a: UInt64, _ b: UInt64, _ c: UInt64, _ d: UInt64) {
        words = SIMD4(a, b, c, d)
    }

    /// What is marked in either.
    public func union(_ other: Marks) -> Marks {
        var out = self
        out.words |= other.words
        return out
    }
}
