/// Text for terminals and logs: what steers who shows it, which may come from anywhere, is written as in JSON, `\u001b`.
package enum PlainText {
    /// Keeps tabs and ends of lines.
    package static func lines(_ text: String) -> String {
        escaped(text) { $0 != "\n" && $0 != "\t" && isSteering($0) }
    }

    /// Of one line.
    package static func line(_ text: String) -> String { escaped(text, isSteering) }

    /// Whether a text could begin a line, move a cursor, or show its parts in another order.
    package static func isSteered(by text: String) -> Bool {
        text.unicodeScalars.contains(where: isSteering)
    }

    /// Control characters, separators of lines and paragraphs, and what changes the direction of writing.
    private static func isSteering(_ scalar: Unicode.Scalar) -> Bool {
        switch scalar.value {
        case ..<0x20, 0x7F...0x9F, 0x061C, 0x200E...0x200F, 0x2028...0x202E, 0x2066...0x206F: true
        default: false
        }
    }

    private static func escaped(_ text: String, _ isEscaped: (Unicode.Scalar) -> Bool) -> String {
        guard text.unicodeScalars.contains(where: isEscaped) else { return text }
        var out = String.UnicodeScalarView()
        for scalar in text.unicodeScalars {
            guard isEscaped(scalar) else {
                out.append(scalar)
                continue
            }
            let digits = String(scalar.value, radix: 16)
            out.append(contentsOf: "\\u".unicodeScalars)
            out.append(contentsOf: String(repeating: "0", count: 4 - digits.count).unicodeScalars)
            out.append(contentsOf: digits.unicodeScalars)
        }
        return String(out)
    }
}
