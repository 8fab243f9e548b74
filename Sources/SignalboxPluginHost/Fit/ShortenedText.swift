/// A text that may be cut, with its cost at each place to cut.
///
/// It is cut at the end of a visible character. A letter with very many combining marks is one character that
/// may not fit any payload; it is cut between its scalars.
struct ShortenedText {
    /// A place to cut: the bytes kept before it, and their cost.
    private struct Cut {
        var bytes: Int
        var cost: Int
        var isSpace: Bool
    }

    private static let mark = "…"
    /// A family of four with skin tones has 41 bytes.
    private static let characterBytesMax = 64

    let text: String
    /// The cost of the whole text; counting stops above the limit.
    let cost: Int
    private var cuts: [Cut] = []
    /// What the ellipsis costs.
    private let markCost: Int

    /// A text that is cut by itself, to so many bytes or UTF-16 code units.
    static func cut(_ text: String, to max: Int, isUTF16: Bool) -> String {
        ShortenedText(text, escapes: 0, bytesMax: max, isUTF16: isUTF16).cut(cap: max)
    }

    /// `escapes` is how many times JSON escapes it; 0 for a text that counts raw.
    init(_ text: String, escapes: Int, bytesMax: Int, isUTF16: Bool = false) {
        self.text = text
        markCost = isUTF16 ? 1 : 3
        var bytes = 0
        var cost = 0
        for character in text {
            if cost > bytesMax { break }
            let isSpace = character.isWhitespace
            if character.utf8.count > Self.characterBytesMax {
                for scalar in character.unicodeScalars {
                    let part = String(scalar)
                    bytes += part.utf8.count
                    cost += isUTF16 ? part.utf16.count : Self.cost(of: part.utf8, escapes)
                    cuts.append(Cut(bytes: bytes, cost: cost, isSpace: false))
                    if cost > bytesMax { break }
                }
            } else {
                bytes += character.utf8.count
                cost +=
                    isUTF16 ? character.utf16.count : Self.cost(of: character.utf8, escapes)
                cuts.append(Cut(bytes: bytes, cost: cost, isSpace: isSpace))
            }
        }
        self.cost = cost
    }

    /// The cost of the text when it is cut to at most `cap`.
    func cost(cap: Int) -> Int {
        if cost <= cap { return cost }
        guard cap >= markCost else { return 0 }
        return (lastCut(cap)?.cost ?? 0) + markCost
    }

    /// The text, cut to a cost of at most `cap`.
    func cut(cap: Int) -> String {
        if cost <= cap { return text }
        guard cap >= markCost else { return "" }
        let kept = lastCut(cap)?.bytes ?? 0
        return String(decoding: text.utf8.prefix(kept), as: UTF8.self) + Self.mark
    }

    /// The last cut that leaves room for the ellipsis and does not follow a space.
    private func lastCut(_ cap: Int) -> Cut? {
        let room = cap - markCost
        var (low, high) = (0, cuts.count)
        while low < high {
            let middle = (low + high) / 2
            if cuts[middle].cost <= room { low = middle + 1 } else { high = middle }
        }
        while low > 0, cuts[low - 1].isSpace { low -= 1 }
        return low > 0 ? cuts[low - 1] : nil
    }

    private static func cost(of bytes: some Sequence<UInt8>, _ escapes: Int) -> Int {
        bytes.reduce(0) { $0 + cost(of: $1, escapes) }
    }

    /// The length of a byte after `escapes` escapings: `"` becomes `\"`, then `\\\"`.
    static func cost(of byte: UInt8, _ escapes: Int) -> Int {
        guard escapes > 0 else { return 1 }
        let isSlashed = byte == UInt8(ascii: "\"") || byte == UInt8(ascii: "\\")
        guard byte < 0x20 || isSlashed else { return 1 }
        if isSlashed { return 1 << escapes }
        // A backslash, which doubles each time, then a letter, or u and four digits.
        let rest = byte == 0x0A || byte == 0x0D || byte == 0x09 ? 1 : 5
        return 1 << (escapes - 1) + rest
    }
}
