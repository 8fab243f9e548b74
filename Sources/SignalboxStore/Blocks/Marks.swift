/// A mark for each delivery of a block.
struct Marks: Equatable {
    static let count = 256
    private var words = SIMD4<UInt64>()

    init() {}

    /// From a row; bytes that are missing are not marked.
    init(_ bytes: some Collection<UInt8>) {
        for (index, byte) in bytes.prefix(Self.count / 8).enumerated() {
            words[index >> 3] |= UInt64(byte) << UInt64((index & 7) * 8)
        }
    }

    /// For a row.
    var bytes: [UInt8] {
        (0..<Self.count / 8).map {
            UInt8(truncatingIfNeeded: words[$0 >> 3] >> UInt64(($0 & 7) * 8))
        }
    }

    subscript(index: Int) -> Bool {
        get { words[index >> 6] & (1 << UInt64(index & 63)) != 0 }
        set {
            let bit: UInt64 = 1 << UInt64(index & 63)
            if newValue { words[index >> 6] |= bit } else { words[index >> 6] &= ~bit }
        }
    }

    var marked: Int { (0..<4).reduce(0) { $0 + words[$1].nonzeroBitCount } }
}
