internal import CRE2

/// A regular expression that is compiled once, at load, and matched against bounded text.
///
/// It has RE2's syntax. Matching takes time linear in the text for every expression and text, so
/// look-around and back references are not supported.
///
/// `@unchecked Sendable`: the expression does not change after `init`, and RE2 lets any number of
/// threads match with it.
public final class Pattern: @unchecked Sendable, Hashable {
    /// Longer expressions are rejected.
    public static let patternBytesMax = 512
    /// Longer text is cut before matching.
    public static let bytesMax = 4096
    /// Memory limit of one expression: its program and the states that matching caches.
    ///
    /// Enough for `\p{L}{1,64}`; an expression that needs more is rejected.
    static let memoryMax: Int64 = 2 << 20

    /// Why an expression cannot be used.
    public struct Fault: Error, Sendable, Hashable, CustomStringConvertible {
        /// A message for people; it quotes nothing of the expression.
        public var reason: String
        /// The part of the expression at fault; empty: the whole expression.
        public var part: String

        /// Reason and part, as a message for people.
        public var message: String { part.isEmpty ? reason : "\(reason): \"\(part)\"" }

        /// The message.
        public var description: String { message }
    }

    /// The expression as written.
    public let text: String
    private let expression: OpaquePointer

    /// Compiles an expression.
    public init(_ text: String) throws(Fault) {
        guard text.utf8.count <= Self.patternBytesMax else {
            throw Fault(reason: "it has over \(Self.patternBytesMax) bytes", part: "")
        }
        var copy = text
        let read = copy.withUTF8 { bytes in
            bytes.withMemoryRebound(to: CChar.self) {
                cre_pattern_new($0.baseAddress, $0.count, Self.memoryMax)
            }
        }
        guard let read else { throw Fault(reason: "there is no memory for it", part: "") }
        if let fault = Self.fault(of: read) {
            cre_pattern_free(read)
            throw fault
        }
        self.text = text
        expression = read
    }

    deinit { cre_pattern_free(expression) }

    private static func fault(of expression: OpaquePointer) -> Fault? {
        var part: UnsafePointer<CChar>?
        var count = 0
        guard let reason = cre_pattern_fault(expression, &part, &count) else { return nil }
        let bytes = UnsafeRawBufferPointer(start: part, count: count)
        let words = "it has \(String(cString: reason))"
        return Fault(reason: words, part: String(decoding: bytes, as: UTF8.self))
    }

    /// Whether any part of the text matches.
    public func matches(_ subject: String) -> Bool {
        var subject = subject
        return subject.withUTF8 { bytes in
            bytes.withMemoryRebound(to: CChar.self) {
                cre_pattern_matches(expression, $0.baseAddress, Self.boundedCount(bytes)) != 0
            }
        }
    }

    /// The number of bytes to match; never cuts a character in two.
    private static func boundedCount(_ bytes: UnsafeBufferPointer<UInt8>) -> Int {
        guard bytes.count > bytesMax else { return bytes.count }
        var count = bytesMax
        while count > 0, bytes[count] & 0xC0 == 0x80 { count -= 1 }
        return count
    }

    /// Compares the expressions' text.
    public static func == (a: Pattern, b: Pattern) -> Bool { a.text == b.text }

    /// Hashes the expression's text.
    public func hash(into hasher: inout Hasher) { hasher.combine(text) }
}
