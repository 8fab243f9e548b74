package import CSignalbox

extension sbx_str {
    /// The bytes, borrowed; a NULL pointer is empty text whatever its length.
    package var raw: UnsafeRawBufferPointer {
        guard let ptr, len > 0 else { return UnsafeRawBufferPointer(start: nil, count: 0) }
        return UnsafeRawBufferPointer(start: ptr, count: len)
    }

    /// The bytes as unsigned bytes, borrowed.
    package var buffer: UnsafeBufferPointer<UInt8> { raw.bindMemory(to: UInt8.self) }

    /// A copy; bytes that are not UTF-8 are replaced.
    package var text: String { isEmpty ? "" : String(decoding: raw, as: UTF8.self) }

    /// Whether there are no bytes.
    package var isEmpty: Bool { raw.isEmpty }
}

extension String {
    /// A copy of a plugin's static text; nil if it is NULL.
    package init?(plugin text: UnsafePointer<CChar>?) {
        guard let text else { return nil }
        self = String(
            decoding: UnsafeRawBufferPointer(start: text, count: strnlen(text)), as: UTF8.self)
    }
}

/// Stops at 1 MiB: text without an end must not be read forever.
private func strnlen(_ text: UnsafePointer<CChar>) -> Int {
    var count = 0
    while count < 1 << 20, text[count] != 0 { count += 1 }
    return count
}

extension sbx_error {
    /// An empty error for a plugin to fill.
    package static var fresh: sbx_error {
        var error = sbx_error()
        error.struct_size = UInt32(MemoryLayout<sbx_error>.size)
        return error
    }

    /// Whether the plugin wrote a message.
    var hasMessage: Bool { message.0 != 0 }

    /// The plugin's message, or a standard one for the status.
    package func words(for status: sbx_status) -> String {
        let text = withUnsafePointer(to: message) { tuple in
            UnsafeRawPointer(tuple).withMemoryRebound(
                to: CChar.self, capacity: MemoryLayout.size(ofValue: message)
            ) { start in
                let count = MemoryLayout.size(ofValue: message)
                let bytes = UnsafeRawBufferPointer(start: start, count: count)
                return String(decoding: bytes.prefix { $0 != 0 }, as: UTF8.self)
            }
        }
        return text.isEmpty ? PluginFault.word(for: status) : text
    }
}

enum CError {
    /// Writes a fault for a plugin, cut at a character boundary; a struct of a wrong size is not touched.
    static func write(
        _ error: UnsafeMutablePointer<sbx_error>?, _ status: sbx_status, _ message: String,
        _ structs: StructReader, _ call: String
    ) -> sbx_status {
        guard let error,
            structs.reading(
                call,
                { () throws(StructFault) in
                    _ = try structs.size(of: UnsafePointer(error))
                }) != nil
        else { return status }
        error.pointee.status = status
        var bytes = Array(message.utf8.prefix(243))
        while let last = bytes.last, last & 0xC0 == 0x80 { bytes.removeLast() }
        if let last = bytes.last, last >= 0xC0, bytes.count < message.utf8.count {
            bytes.removeLast()
        }
        withUnsafeMutableBytes(of: &error.pointee.message) { target in
            target.initializeMemory(as: UInt8.self, repeating: 0)
            target.copyBytes(from: bytes)
        }
        return status
    }
}

extension UnsafePointer {
    /// Element `index` of an array whose elements are `stride` bytes apart.
    package func element(_ index: Int, stride: Int) -> UnsafePointer<Pointee> {
        (UnsafeRawPointer(self) + index * stride).assumingMemoryBound(to: Pointee.self)
    }
}
