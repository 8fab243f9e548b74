/// A regular expression that is read once, at load, and matched against bounded text.
///
/// `@unchecked Sendable`: the expression is never changed after `init`, which also runs it once so
/// that nothing in it is set up lazily later; matching only reads.
final class Pattern: @unchecked Sendable, Hashable {
    /// Longer text is cut before it is matched, so that a hostile body cannot make it slow.
    static let bytesMax = 4096

    let text: String
    private let regex: Regex<AnyRegexOutput>

    init?(_ text: String) {
        guard text.utf8.count <= 512, let regex = try? Regex(text) else { return nil }
        self.text = text
        self.regex = regex
        _ = "".firstMatch(of: regex)
    }

    func matches(_ subject: String) -> Bool {
        let bounded =
            subject.utf8.count <= Self.bytesMax
            ? subject : String(decoding: subject.utf8.prefix(Self.bytesMax), as: UTF8.self)
        return bounded.firstMatch(of: regex) != nil
    }

    static func == (a: Pattern, b: Pattern) -> Bool { a.text == b.text }

    func hash(into hasher: inout Hasher) { hasher.combine(text) }
}
