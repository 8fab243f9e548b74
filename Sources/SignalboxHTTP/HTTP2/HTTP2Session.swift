package import CNghttp2
internal import Glibc

/// Helpers shared by client and server sessions of nghttp2.
package enum HTTP2Session {
    /// Hands over what the session wants to send, frame by frame; false if it or `write` failed.
    package static func drain(
        _ session: OpaquePointer, _ write: (UnsafeBufferPointer<UInt8>) -> Bool
    ) -> Bool {
        while true {
            var bytes: UnsafePointer<UInt8>?
            let count = nghttp2_session_mem_send(session, &bytes)
            guard count > 0 else { return count == 0 }
            guard write(UnsafeBufferPointer(start: bytes, count: count)) else { return false }
        }
    }

    /// A header field; nghttp2 copies it unless `flags` say otherwise.
    package static func field(
        _ name: UnsafeBufferPointer<UInt8>, _ value: UnsafeBufferPointer<UInt8>, flags: UInt32
    ) -> nghttp2_nv {
        nghttp2_nv(
            name: UnsafeMutablePointer(mutating: name.baseAddress),
            value: UnsafeMutablePointer(mutating: value.baseAddress), namelen: name.count,
            valuelen: value.count, flags: UInt8(truncatingIfNeeded: flags))
    }

    package static func text(_ bytes: UnsafePointer<UInt8>?, _ count: Int) -> String {
        String(decoding: UnsafeBufferPointer(start: bytes, count: count), as: UTF8.self)
    }

    /// Bytes at an address that stays valid until the program ends.
    static func bytes(_ text: StaticString) -> UnsafeBufferPointer<UInt8> {
        UnsafeBufferPointer(start: text.utf8Start, count: text.utf8CodeUnitCount)
    }
}

extension UnsafeBufferPointer<UInt8> {
    func hasSameBytes(as other: Self) -> Bool {
        guard count == other.count else { return false }
        guard let one = baseAddress, let two = other.baseAddress else { return count == 0 }
        return memcmp(one, two, count) == 0
    }
}

/// Bytes at an address that stays valid during the object's life.
struct PinnedBytes {
    private let buffer: ManagedBuffer<Int, UInt8>

    init(_ source: [UInt8]) {
        buffer = .create(minimumCapacity: max(1, source.count)) { _ in source.count }
        buffer.withUnsafeMutablePointerToElements { start in
            _ = UnsafeMutableBufferPointer(start: start, count: source.count)
                .initialize(from: source)
        }
    }

    func slice(_ offset: Int32, _ length: Int32) -> UnsafeBufferPointer<UInt8> {
        buffer.withUnsafeMutablePointerToElements {
            UnsafeBufferPointer(start: $0 + Int(offset), count: Int(length))
        }
    }

    var all: UnsafeBufferPointer<UInt8> { slice(0, Int32(buffer.header)) }
}
