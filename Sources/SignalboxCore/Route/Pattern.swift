/// A regular expression that is read once, at load, and matched against bounded text.
///
/// `@unchecked Sendable`: the expression is never changed after `init`, which also runs it once so
/// that nothing in it is set up lazily later; matching only reads.
public final class Pattern: @unchecked Sendable, Hashable {
    /// Longer text is cut before it is matched, so that a hostile body cannot make it slow.
    public static let bytesMax = 4096

    /// The expression as it was written.
    public let text: String
    private let regex: Regex<AnyRegexOutput>

    /// Reads an expression; nil if it is malformed or over 512 bytes.
    public init?(_ text: String) {
        guard text.utf8.count <= 512, let regex = try? Regex(text) else { return nil }
        self.text = text
        self.regex = regex
        _ = "".firstMatch(of: regex)
    }

    /// Whether some part of the text matches.
    public func matches(_ subject: String) -> Bool {
        let bounded =
            subject.utf8.count <= Self.bytesMax
            ? subject : String(decoding: subject.utf8.prefix(Self.bytesMax), as: UTF8.self)
        return bounded.firstMatch(of: regex) != nil
    }

    /// The same expression.
    public static func == (a: Pattern, b: Pattern) -> Bool { a.text == b.text }

    /// By the expression.
    public func hash(into hasher: inout Hasher) { hasher.combine(text) }
}
