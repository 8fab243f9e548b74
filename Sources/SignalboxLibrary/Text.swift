internal import CSignalbox
internal import SignalboxCore

extension sbx_str {
    var bytes: UnsafeRawBufferPointer {
        guard let ptr, len > 0 else { return UnsafeRawBufferPointer(start: nil, count: 0) }
        return UnsafeRawBufferPointer(start: ptr, count: len)
    }

    /// A copy of the text.
    var text: String { String(decoding: bytes, as: UTF8.self) }
}

/// Memory for the structs of one call into the host, freed as a whole.
final class Lent {
    private var blocks: [UnsafeMutableRawPointer] = []

    deinit { for block in blocks { block.deallocate() } }

    func text(_ text: String) -> sbx_str {
        var copy = text
        return copy.withUTF8 { bytes(UnsafeRawBufferPointer($0)) }
    }

    func bytes(_ source: UnsafeRawBufferPointer) -> sbx_str {
        guard let start = source.baseAddress, !source.isEmpty else { return sbx_str() }
        let room = UnsafeMutableRawPointer.allocate(byteCount: source.count, alignment: 1)
        blocks.append(room)
        room.copyMemory(from: start, byteCount: source.count)
        return sbx_str(ptr: room.assumingMemoryBound(to: CChar.self), len: source.count)
    }

    func pairs(_ attributes: [Attribute]) -> UnsafePointer<sbx_kv>? {
        guard !attributes.isEmpty else { return nil }
        let room = UnsafeMutablePointer<sbx_kv>.allocate(capacity: attributes.count)
        blocks.append(UnsafeMutableRawPointer(room))
        for (index, attribute) in attributes.enumerated() {
            (room + index).initialize(
                to: sbx_kv(key: text(attribute.key), value: text(attribute.value)))
        }
        return UnsafePointer(room)
    }
}

/// The part of a struct that both sides know; fields that the caller does not know are zero.
func known<Struct: BitwiseCopyable>(
    _ given: UnsafePointer<Struct>, _ size: UInt32, _ empty: Struct
) -> Struct {
    var out = empty
    let count = min(Int(size), MemoryLayout<Struct>.size)
    withUnsafeMutableBytes(of: &out) {
        $0.copyMemory(from: UnsafeRawBufferPointer(start: given, count: count))
    }
    return out
}

/// What is wrong with a struct that is too small: `struct_size` was not set.
func sizeFault(_ name: String, _ size: UInt32) -> String {
    "the program set struct_size of \(name) to \(size): set it to sizeof(\(name))"
}

/// Copies the host's pairs.
func attributes(_ start: UnsafePointer<sbx_kv>?, _ count: Int) -> [Attribute] {
    guard let start else { return [] }
    return (0..<count).map { Attribute(start[$0].key.text, start[$0].value.text) }
}

/// Writes an error for the host, cut at a character boundary. Returns the status.
func fail(
    _ error: UnsafeMutablePointer<sbx_error>?, _ status: sbx_status, _ message: String
) -> sbx_status {
    guard let error, error.pointee.struct_size >= MemoryLayout<sbx_error>.size else {
        return status
    }
    error.pointee.status = status
    var text = message
    while text.utf8.count > 243 { text.removeLast() }
    withUnsafeMutableBytes(of: &error.pointee.message) { target in
        target.initializeMemory(as: UInt8.self, repeating: 0)
        target.copyBytes(from: text.utf8)
    }
    return status
}
