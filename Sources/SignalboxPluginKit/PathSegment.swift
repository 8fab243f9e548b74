/// Percent-encoding of one path segment (RFC 3986).
public enum PathSegment {
    /// Encodes everything but letters, digits, `-`, `.`, `_` and `~`.
    public static func encode(_ text: String) -> String {
        // These two would change the path.
        if text == "." || text == ".." { return text.map { _ in "%2E" }.joined() }
        var out: [UInt8] = []
        for byte in text.utf8 {
            switch byte {
            case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
                UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "-"), UInt8(ascii: "."),
                UInt8(ascii: "_"), UInt8(ascii: "~"):
                out.append(byte)
            default:
                out.append(UInt8(ascii: "%"))
                out.append(contentsOf: Hex.encode([byte]).uppercased().utf8)
            }
        }
        return String(decoding: out, as: UTF8.self)
    }
}
