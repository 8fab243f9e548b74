/// Suggests the right name for a misspelled one.
public enum Suggestion {
    /// Longest name that is compared, in bytes: the work grows with its square, and strangers may choose it.
    private static let lengthMax = 256
    /// Most bytes of a stranger's name that an answer repeats.
    private static let shownMax = 64

    /// The beginning of a name, for the answer to its sender.
    public static func shown(_ name: String) -> String {
        name.utf8.count <= shownMax
            ? name : String(decoding: name.utf8.prefix(shownMax), as: UTF8.self)
    }

    /// The candidate nearest to `name`, or nil if none is close.
    public static func nearest(to name: String, among candidates: some Sequence<String>) -> String?
    {
        guard name.utf8.count <= lengthMax else { return nil }
        let target = Array(name.lowercased().utf8)
        let bound = max(1, target.count / 3)
        var best: (distance: Int, name: String)?
        for candidate in candidates {
            let distance = distance(target, Array(candidate.lowercased().utf8))
            if distance <= bound, distance < best?.distance ?? Int.max {
                best = (distance, candidate)
            }
        }
        return best?.name
    }

    /// Whether one letter was left out, added or changed, or two neighbours were swapped.
    public static func isOneStep(from name: String, to other: String) -> Bool {
        distance(Array(name.utf8), Array(other.utf8)) == 1
    }

    /// ` (did you mean "x"?)`, or an empty string.
    public static func hint(for name: String, among candidates: some Sequence<String>) -> String {
        nearest(to: name, among: candidates).map { " (did you mean \"\($0)\"?)" } ?? ""
    }

    /// Edit distance that counts a swap of two adjacent characters as one edit.
    private static func distance(_ a: [UInt8], _ b: [UInt8]) -> Int {
        guard !a.isEmpty, !b.isEmpty else { return max(a.count, b.count) }
        var beforeLast = [Int](repeating: 0, count: b.count + 1)
        var last = Array(0...b.count)
        for i in 1...a.count {
            var row = [i] + [Int](repeating: 0, count: b.count)
            for j in 1...b.count {
                let cost = a[i - 1] == b[j - 1] ? 0 : 1
                row[j] = min(last[j] + 1, row[j - 1] + 1, last[j - 1] + cost)
                if i > 1, j > 1, a[i - 1] == b[j - 2], a[i - 2] == b[j - 1] {
                    row[j] = min(row[j], beforeLast[j - 2] + 1)
                }
            }
            (beforeLast, last) = (last, row)
        }
        return last[b.count]
    }
}
