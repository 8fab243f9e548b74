/// Writes JSON into bytes, including commas and escapes.
public struct JSONWriter: Sendable {
    /// The bytes written so far.
    public private(set) var bytes: [UInt8] = []
    private var needsComma = false

    /// An empty writer.
    public init() { bytes.reserveCapacity(512) }

    /// The text written so far.
    public var text: String { String(decoding: bytes, as: UTF8.self) }

    /// Writes an object whose members `body` writes.
    public mutating func object(_ body: (inout JSONWriter) -> Void) {
        enclosed("{", "}", body)
    }

    /// Writes an array whose elements `body` writes.
    public mutating func array(_ body: (inout JSONWriter) -> Void) {
        enclosed("[", "]", body)
    }

    /// Writes the name of a member; its value comes next.
    public mutating func key(_ name: String) {
        separate()
        quote(name)
        bytes.append(UInt8(ascii: ":"))
        needsComma = false
    }

    /// Writes a string.
    public mutating func string(_ text: String) {
        separate()
        quote(text)
        needsComma = true
    }

    /// Writes an integer.
    public mutating func integer(_ value: some BinaryInteger) { raw(String(value)) }

    /// Writes true or false.
    public mutating func boolean(_ value: Bool) { raw(value ? "true" : "false") }

    /// Writes text that is already JSON.
    public mutating func raw(_ json: String) {
        separate()
        bytes.append(contentsOf: json.utf8)
        needsComma = true
    }

    /// Writes a parsed value; a string goes from its bytes into these.
    public mutating func value(_ value: JSON) {
        guard let text = value.rawString else { return raw(value.text) }
        separate()
        quote(text)
        needsComma = true
    }

    /// Writes a member with a string, unless that is empty.
    public mutating func member(_ name: String, _ text: String) {
        guard !text.isEmpty else { return }
        key(name)
        string(text)
    }

    /// Writes a member with an integer.
    public mutating func member(_ name: String, _ value: some BinaryInteger) {
        key(name)
        integer(value)
    }

    /// Writes a member with true or false.
    public mutating func member(_ name: String, _ value: Bool) {
        key(name)
        boolean(value)
    }

    /// Writes a placeholder for a string that differs between uses of this JSON. The bytes so far, with
    /// the opening quote, are the first part; the bytes that follow are the second.
    ///
    /// Returns the end of the first part.
    public mutating func hole() -> Int {
        separate()
        bytes.append(UInt8(ascii: "\""))
        let place = bytes.count
        bytes.append(UInt8(ascii: "\""))
        needsComma = true
        return place
    }

    private mutating func enclosed(
        _ open: Unicode.Scalar, _ close: Unicode.Scalar, _ body: (inout JSONWriter) -> Void
    ) {
        separate()
        bytes.append(UInt8(ascii: open))
        needsComma = false
        body(&self)
        bytes.append(UInt8(ascii: close))
        needsComma = true
    }

    private mutating func separate() {
        if needsComma { bytes.append(UInt8(ascii: ",")) }
    }

    private mutating func quote(_ text: String) {
        text.utf8.span.withUnsafeBufferPointer { quote($0) }
    }

    private mutating func quote(_ source: UnsafeBufferPointer<UInt8>) {
        bytes.append(UInt8(ascii: "\""))
        // Most texts need no escapes, so they are copied in runs.
        var start = 0
        while true {
            let end = Self.endOfRun(source, from: start)
            bytes.append(contentsOf: UnsafeBufferPointer(rebasing: source[start..<end]))
            if end == source.count { break }
            Self.append(source[end], to: &bytes)
            start = end + 1
        }
        bytes.append(UInt8(ascii: "\""))
    }

    /// The first byte at or after `start` that must be escaped, or the end; eight bytes at a time.
    private static func endOfRun(_ source: UnsafeBufferPointer<UInt8>, from start: Int) -> Int {
        var at = start
        let words = UnsafeRawBufferPointer(source)
        while at + 8 <= source.count {
            let word = words.loadUnaligned(fromByteOffset: at, as: UInt64.self)
            let marks =
                hasBelow(word, 0x20) | hasZero(word ^ (ones &* 0x22))
                | hasZero(word ^ (ones &* 0x5C))
            if marks != 0 { break }
            at += 8
        }
        while at < source.count, !isEscaped(source[at]) { at += 1 }
        return at
    }

    private static let ones: UInt64 = 0x0101_0101_0101_0101
    private static let tops: UInt64 = 0x8080_8080_8080_8080

    /// Not zero exactly if one of the eight bytes is 0.
    private static func hasZero(_ word: UInt64) -> UInt64 { (word &- ones) & ~word & tops }

    /// Not zero exactly if one of the eight bytes is below a limit of at most 0x80.
    private static func hasBelow(_ word: UInt64, _ limit: UInt64) -> UInt64 {
        (word &- ones &* limit) & ~word & tops
    }

    private static func isEscaped(_ byte: UInt8) -> Bool {
        byte < 0x20 || byte == UInt8(ascii: "\"") || byte == UInt8(ascii: "\\")
    }

    /// Appends one byte of a string, escaped if necessary.
    static func append(_ byte: UInt8, to bytes: inout [UInt8]) {
        switch byte {
        case UInt8(ascii: "\""), UInt8(ascii: "\\"):
            bytes.append(UInt8(ascii: "\\"))
            bytes.append(byte)
        case 0x0A: bytes.append(contentsOf: [UInt8(ascii: "\\"), UInt8(ascii: "n")])
        case 0x0D: bytes.append(contentsOf: [UInt8(ascii: "\\"), UInt8(ascii: "r")])
        case 0x09: bytes.append(contentsOf: [UInt8(ascii: "\\"), UInt8(ascii: "t")])
        case 0..<0x20:
            let digits = String(byte, radix: 16)
            bytes.append(contentsOf: (byte < 16 ? "\\u000" : "\\u00").utf8)
            bytes.append(contentsOf: digits.utf8)
        default: bytes.append(byte)
        }
    }
}
