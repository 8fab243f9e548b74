internal import CNghttp2
internal import NIOCore

/// Small pieces that the client's and the server's nghttp2 sessions share.
enum HTTP2Session {
    /// Everything the session wants to send, appended to one buffer: one write per flush.
    static func drain(_ session: OpaquePointer, into buffer: inout ByteBuffer) -> Bool {
        while true {
            var bytes: UnsafePointer<UInt8>?
            let count = nghttp2_session_mem_send(session, &bytes)
            guard count >= 0 else { return false }
            guard count > 0 else { return true }
            buffer.writeBytes(UnsafeRawBufferPointer(start: bytes, count: count))
        }
    }

    /// A header field that nghttp2 copies.
    static func field(
        _ name: UnsafeBufferPointer<UInt8>, _ value: UnsafeBufferPointer<UInt8>, flags: UInt32
    ) -> nghttp2_nv {
        nghttp2_nv(
            name: UnsafeMutablePointer(mutating: name.baseAddress),
            value: UnsafeMutablePointer(mutating: value.baseAddress), namelen: name.count,
            valuelen: value.count, flags: UInt8(truncatingIfNeeded: flags))
    }

    static func text(_ bytes: UnsafePointer<UInt8>?, _ count: Int) -> String {
        String(decoding: UnsafeBufferPointer(start: bytes, count: count), as: UTF8.self)
    }

    /// Bytes that stay at their address until the program ends.
    static func bytes(_ text: StaticString) -> UnsafeBufferPointer<UInt8> {
        UnsafeBufferPointer(start: text.utf8Start, count: text.utf8CodeUnitCount)
    }
}

/// Bytes at an address that does not move while this lives.
final class PinnedBytes {
    let start: UnsafeMutablePointer<UInt8>
    let count: Int

    init(_ source: some Collection<UInt8>) {
        count = source.count
        start = .allocate(capacity: max(1, count))
        _ = UnsafeMutableBufferPointer(start: start, count: count).initialize(from: source)
    }

    deinit { start.deallocate() }

    func slice(_ offset: Int32, _ length: Int32) -> UnsafeBufferPointer<UInt8> {
        UnsafeBufferPointer(start: start + Int(offset), count: Int(length))
    }

    var all: UnsafeBufferPointer<UInt8> { UnsafeBufferPointer(start: start, count: count) }
}
