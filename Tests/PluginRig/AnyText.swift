/// Random texts of every script, with characters that are hard to cut; from a seed.
package struct AnyText {
    /// Visible characters.
    ///
    /// Among them are a family, flags, a skin tone, conjuncts, marks, right to left,
    /// controls and quotes.
    private static let pieces: [[String]] = [
        ["a", "b", " ", "The quick brown fox. ", "\"", "\\", "/", "\n", "\r\n", "\t", "\u{1}"],
        ["안", "녕", "하", "세", "요 ", "각", "\u{1100}\u{1161}\u{11A8}"],
        ["漢", "字", "。", "你好", "𠮷"],
        ["ا", "ل", "س", "لام ", "\u{0628}\u{0651}\u{064E}", "\u{200F}"],
        ["क्षि", "नम", "स्ते ", "த", "மிழ்", "ไทย", "ที่"],
        ["👨‍👩‍👧‍👦", "🇦🇹", "👍🏽", "🏴󠁧󠁢󠁥󠁮󠁧󠁿", "❤️‍🔥", "🧑🏿‍🤝‍🧑🏻"],
        ["e\u{301}", "n\u{303}", "a" + String(repeating: "\u{310}", count: 40), "\u{FEFF}", "ß"],
    ]

    /// A text of this size fits into a webhook.
    private static let bytesMax = 100_000

    private var state: UInt64

    /// Starts with a seed, which failing tests report.
    package init(seed: UInt64) { state = seed }

    /// The next number (splitmix64).
    package mutating func next() -> UInt64 {
        state &+= 0x9E37_79B9_7F4A_7C15
        var z = state
        z = (z ^ (z >> 30)) &* 0xBF58_476D_1CE4_E5B9
        z = (z ^ (z >> 27)) &* 0x94D0_49BB_1331_11EB
        return z ^ (z >> 31)
    }

    /// A text of 1 to `most` pieces of one or several scripts.
    ///
    /// Short and long texts are equally likely.
    package mutating func text(most: Int) -> String {
        let digits = UInt64(most).leadingZeroBitCount
        let bound = UInt64(1) << (next() % UInt64(65 - digits))
        let count = Int(next() % min(bound, UInt64(most))) + 1
        if next() % 20 == 0 {
            // A letter with any number of marks is a single character.
            return "a" + String(repeating: "\u{301}", count: min(count, Self.bytesMax / 2))
        }
        let script = Self.pieces[Int(next() % UInt64(Self.pieces.count))]
        let isMixed = next() % 3 == 0
        var out = ""
        for _ in 0..<count where out.utf8.count < Self.bytesMax {
            let from = isMixed ? Self.pieces[Int(next() % UInt64(Self.pieces.count))] : script
            out += from[Int(next() % UInt64(from.count))]
        }
        return out
    }
}
