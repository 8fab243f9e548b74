internal import CSimdjson

/// One parsed document and access to its values.
///
/// It serves the `sbx.json/1` service, `JSONDocument` and `JSONValue`.
///
/// One thread at a time. Values live until the next `parse` or as long as the parser; those of a
/// `JSONDocument` live as long as the document.
public final class JSONParser {
    /// The deepest nesting that is accepted.
    public static let depthMax = 64

    /// A value in a parser's document; two words, copied freely.
    public struct Value {
        /// Opaque.
        public var document: UnsafeRawPointer?
        /// Opaque.
        public var position: UInt64

        /// Makes a value from its words.
        public init(document: UnsafeRawPointer?, position: UInt64) {
            self.document = document
            self.position = position
        }

        init(_ value: csj_value) { self.init(document: value.document, position: value.position) }

        var plain: csj_value { csj_value(document: document, position: position) }
    }

    /// An iterator over an array or object; four words, copied freely.
    public struct Cursor {
        /// Opaque.
        public var words: (UInt64, UInt64, UInt64, UInt64)

        /// Makes a cursor from its words.
        public init(words: (UInt64, UInt64, UInt64, UInt64)) { self.words = words }
    }

    /// The kind of a value; the numbers are those of `SBX_JSON_*`.
    public enum Kind: UInt32, Sendable {
        case null = 0
        case boolean, integer, number, string, array, object
    }

    private let parser: OpaquePointer

    /// Whether half a surrogate pair (`\ud83d` alone) of the last text was read as U+FFFD.
    ///
    /// Senders cut texts in the middle of an emoji, and the rest of such a message is sound. The
    /// text itself would be refused by others; that of the value would not.
    public private(set) var isMended = false

    /// Makes a parser; nil if out of memory.
    public init?() {
        guard let made = csj_parser_new() else { return nil }
        parser = made
    }

    deinit { csj_parser_free(parser) }

    /// Parses text; the previous document is gone.
    public func parse(_ bytes: UnsafeBufferPointer<UInt8>) throws(JSONFault) -> Value {
        var root = csj_value()
        var fault: UnsafePointer<CChar>?
        let start = bytes.baseAddress.map {
            UnsafeRawPointer($0).assumingMemoryBound(to: CChar.self)
        }
        let status = csj_parse(parser, start, bytes.count, Self.depthMax, &root, &fault)
        isMended = status == 1
        guard status >= 0 else {
            throw JSONFault(message: fault.map { String(cString: $0) } ?? "its syntax is wrong")
        }
        return Value(root)
    }

    /// The value's JSON without whitespace; lives until the next call on this thread.
    public static func text(of value: Value) -> UnsafeBufferPointer<UInt8>? {
        var bytes: UnsafePointer<CChar>?
        var length = 0
        guard csj_text(value.plain, &bytes, &length) == 0 else { return nil }
        return Self.buffer(bytes, length)
    }

    /// The kind of a value.
    public static func kind(of value: Value) -> Kind {
        Kind(rawValue: csj_kind(value.plain)) ?? .null
    }

    /// The bytes of a string, or nil; they live as long as the document.
    public static func string(_ value: Value) -> UnsafeBufferPointer<UInt8>? {
        var bytes: UnsafePointer<CChar>?
        var length = 0
        guard csj_string(value.plain, &bytes, &length) == 0 else { return nil }
        return buffer(bytes, length)
    }

    /// The value of an integer that fits 64 bits, or nil.
    public static func integer(_ value: Value) -> Int64? {
        var out: Int64 = 0
        return csj_integer(value.plain, &out) == 0 ? out : nil
    }

    /// The value of true or false, or nil.
    public static func boolean(_ value: Value) -> Bool? {
        var out: UInt32 = 0
        return csj_boolean(value.plain, &out) == 0 ? out == 1 : nil
    }

    /// The value at an RFC 6901 pointer, or nil.
    public static func at(_ value: Value, pointer: UnsafeBufferPointer<UInt8>) -> Value? {
        var out = csj_value()
        let start = pointer.baseAddress.map {
            UnsafeRawPointer($0).assumingMemoryBound(to: CChar.self)
        }
        guard csj_at(value.plain, start, pointer.count, &out) == 0 else { return nil }
        return Value(out)
    }

    /// The number of elements or members; 0 for other kinds.
    public static func count(_ value: Value) -> UInt64 { csj_count(value.plain) }

    /// Starts an iteration; nil unless the value is an array or object.
    public static func first(_ value: Value) -> Cursor? {
        var cursor = csj_cursor()
        guard csj_first(value.plain, &cursor) == 0 else { return nil }
        return Cursor(words: cursor.state)
    }

    /// The next element with its name, or nil at the end.
    public static func next(
        _ cursor: inout Cursor
    ) -> (key: UnsafeBufferPointer<UInt8>, value: Value)? {
        var plain = csj_cursor(state: cursor.words)
        var key: UnsafePointer<CChar>?
        var length = 0
        var value = csj_value()
        guard csj_next(&plain, &key, &length, &value) == 0 else { return nil }
        cursor.words = plain.state
        return (buffer(key, length), Value(value))
    }

    private static func buffer(
        _ start: UnsafePointer<CChar>?, _ length: Int
    ) -> UnsafeBufferPointer<UInt8> {
        UnsafeBufferPointer(
            start: start.map { UnsafeRawPointer($0).assumingMemoryBound(to: UInt8.self) },
            count: length)
    }
}
