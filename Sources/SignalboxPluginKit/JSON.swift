internal import CSignalbox

/// A value in a parsed document.
///
/// It is valid until the role call in which it was parsed returns; later it reads as null.
public struct JSON {
    /// The kind of a value.
    public enum Kind: UInt32, Sendable {
        case null = 0
        case boolean, integer, number, string, array, object
    }

    let table: UnsafePointer<sbx_json>
    let raw: sbx_json_value

    /// The value's kind.
    public var kind: Kind { Kind(rawValue: table.pointee.kind(raw)) ?? .null }

    /// The text of a string, or nil.
    public var string: String? { rawString.map { String(decoding: $0, as: UTF8.self) } }

    /// The bytes of a string, or nil.
    var rawString: UnsafeBufferPointer<UInt8>? {
        var text = sbx_str()
        return table.pointee.string(raw, &text) == SBX_OK ? text.buffer : nil
    }

    /// The text of a string, or of a number or a boolean as written; nil for other kinds.
    public var scalarText: String? {
        switch kind {
        case .string: string
        case .boolean, .integer, .number: text
        case .null, .array, .object: nil
        }
    }

    /// The value of an integer, or nil.
    public var integer: Int64? {
        var number: Int64 = 0
        return table.pointee.integer(raw, &number) == SBX_OK ? number : nil
    }

    /// The value of true or false, or nil.
    public var boolean: Bool? {
        var flag: UInt32 = 0
        return table.pointee.boolean(raw, &flag) == SBX_OK ? flag == 1 : nil
    }

    /// The value as JSON text without spaces.
    public var text: String {
        var text = sbx_str()
        return table.pointee.text(raw, &text) == SBX_OK ? text.text : "null"
    }

    /// The number of elements or members; 0 for other kinds.
    public var count: Int { Int(table.pointee.count(raw)) }

    /// The value at an RFC 6901 pointer, or nil.
    public func at(_ pointer: String) -> JSON? {
        var out = sbx_json_value()
        let status = pointer.utf8.span.withUnsafeBufferPointer { bytes in
            bytes.withMemoryRebound(to: CChar.self) { text in
                table.pointee.at(raw, sbx_str(ptr: text.baseAddress, len: text.count), &out)
            }
        }
        return status == SBX_OK ? JSON(table: table, raw: out) : nil
    }

    /// The member with that name, or nil; the name is used literally.
    public subscript(key: String) -> JSON? {
        var out = sbx_json_value()
        let status = key.utf8.span.withUnsafeBufferPointer { name in
            // Each byte becomes two at most: `~` is written `~0`, and `/` is written `~1`.
            withUnsafeTemporaryAllocation(of: CChar.self, capacity: 2 * name.count + 1) { pointer in
                pointer[0] = 0x2F
                var end = 1
                for byte in name {
                    let isEscaped = byte == UInt8(ascii: "~") || byte == UInt8(ascii: "/")
                    pointer[end] = isEscaped ? 0x7E : CChar(bitPattern: byte)
                    end += 1
                    guard isEscaped else { continue }
                    pointer[end] = byte == UInt8(ascii: "~") ? 0x30 : 0x31
                    end += 1
                }
                let text = sbx_str(ptr: UnsafePointer(pointer.baseAddress), len: end)
                return table.pointee.at(raw, text, &out)
            }
        }
        return status == SBX_OK ? JSON(table: table, raw: out) : nil
    }

    /// Elements of an array, or members of an object with their names; none for other kinds.
    public var members: [(key: String, value: JSON)] {
        var cursor = sbx_json_cursor()
        guard table.pointee.first(raw, &cursor) == SBX_OK else { return [] }
        var out: [(key: String, value: JSON)] = []
        out.reserveCapacity(count)
        var key = sbx_str()
        var value = sbx_json_value()
        while table.pointee.next(&cursor, &key, &value) == SBX_OK {
            out.append((key.text, JSON(table: table, raw: value)))
        }
        return out
    }

    /// Elements of an array; none for other kinds.
    public var elements: [JSON] {
        var cursor = sbx_json_cursor()
        guard kind == .array, table.pointee.first(raw, &cursor) == SBX_OK else { return [] }
        var out: [JSON] = []
        out.reserveCapacity(count)
        var key = sbx_str()
        var value = sbx_json_value()
        while table.pointee.next(&cursor, &key, &value) == SBX_OK {
            out.append(JSON(table: table, raw: value))
        }
        return out
    }
}
