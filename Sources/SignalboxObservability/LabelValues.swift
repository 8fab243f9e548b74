/// Name, help and labels of a metric.
public struct MetricAbout: Sendable {
    /// Kinds, by Prometheus' names.
    public enum Kind: String, Sendable {
        case counter, gauge, histogram
    }

    /// In base units: `signalbox_commit_seconds`. A counter ends in `_total`.
    public let name: String
    /// What it counts or measures.
    public let kind: Kind
    /// One sentence.
    public let help: String
    /// Names of its labels, at most four.
    public let labels: [String]
}

/// The values of up to four labels, in the order of their names.
struct LabelValues: Hashable, Sendable {
    /// Takes what is counted when a metric has as many series as it may.
    static let other = LabelValues("other", "other", "other", "other")

    let values: (String, String, String, String)

    init(_ a: String, _ b: String, _ c: String, _ d: String) { values = (a, b, c, d) }

    /// What a label says at most, so that a hostile one cannot fill the memory.
    var bounded: LabelValues {
        LabelValues(
            LabelText.bounded(values.0), LabelText.bounded(values.1),
            LabelText.bounded(values.2), LabelText.bounded(values.3))
    }

    subscript(_ index: Int) -> String {
        switch index {
        case 0: values.0
        case 1: values.1
        case 2: values.2
        default: values.3
        }
    }

    static func == (one: Self, other: Self) -> Bool { one.values == other.values }

    func hash(into hasher: inout Hasher) {
        hasher.combine(values.0)
        hasher.combine(values.1)
        hasher.combine(values.2)
        hasher.combine(values.3)
    }
}

/// Texts of labels and helps, by bytes: `\r\n` is one character and two bytes, and the second ends a line.
enum LabelText {
    static let bytesMax = 128

    /// At most 128 bytes, in whole characters of Unicode.
    static func bounded(_ text: String) -> String {
        guard text.utf8.count > bytesMax else { return text }
        var end = text.utf8.index(text.startIndex, offsetBy: bytesMax)
        while text.utf8[end] & 0xC0 == 0x80 { end = text.utf8.index(before: end) }
        return String(text[..<end])
    }

    /// Backslashes, ends of lines and, in a label, quotes.
    static func escaped(_ text: String, quotes: Bool = true) -> String {
        func isSpecial(_ byte: UInt8) -> Bool {
            byte == UInt8(ascii: "\\") || byte == UInt8(ascii: "\n")
                || quotes && byte == UInt8(ascii: "\"")
        }
        guard text.utf8.contains(where: isSpecial) else { return text }
        var out: [UInt8] = []
        for byte in text.utf8 {
            if isSpecial(byte) { out.append(UInt8(ascii: "\\")) }
            out.append(byte == UInt8(ascii: "\n") ? UInt8(ascii: "n") : byte)
        }
        return String(decoding: out, as: UTF8.self)
    }
}
