internal import COpenSSL
internal import NIOCore

/// Replaces the network for a TLS session: bytes in memory, accessed through an OpenSSL BIO.
///
/// Zero-copy: OpenSSL reads from NIO's receive buffer, and writes into the buffer that NIO sends.
final class TLSWire {
    /// Received bytes that the session has not read yet.
    private(set) var incoming = ByteBuffer()
    private var outgoing = ByteBuffer()
    /// Whether the buffer of sent bytes is used again, once the channel has sent them.
    private let keepsBuffer: Bool

    /// No buffer that is kept is larger.
    static let keptBytesMax = 16 * 1_024

    init(keepsBuffer: Bool) { self.keepsBuffer = keepsBuffer }

    func receive(_ buffer: ByteBuffer) {
        if incoming.readableBytes == 0 {
            incoming = buffer
        } else {
            incoming.writeImmutableBuffer(buffer)
        }
    }

    /// Reserves capacity for records with this many bytes of plain text.
    func reserve(plain count: Int) {
        // A record holds up to 16 KiB, and no cipher adds more than 96 bytes to one.
        let more = count + (count >> 14 + 1) * 96
        if outgoing.readableBytes == 0 {
            outgoing.clear(minimumCapacity: more)
        } else {
            outgoing.reserveCapacity(outgoing.writerIndex + more)
        }
    }

    /// Takes the bytes to send, or nil.
    func take() -> ByteBuffer? {
        guard outgoing.readableBytes > 0 else { return nil }
        let bytes = outgoing
        if keepsBuffer, bytes.capacity <= Self.keptBytesMax {
            outgoing.moveReaderIndex(to: outgoing.writerIndex)
        } else {
            outgoing = ByteBuffer()
        }
        return bytes
    }

    // MARK: The BIO

    /// A BIO that reads and writes here. It does not retain `self`; the owner of the BIO must.
    func makeBIO() -> OpaquePointer? {
        guard let bio = BIO_new(Self.method.pointer) else { return nil }
        BIO_set_data(bio, Unmanaged.passUnretained(self).toOpaque())
        BIO_set_init(bio, 1)
        return bio
    }

    /// `@unchecked Sendable`: immutable after `init`; kept until the program ends.
    private final class Method: @unchecked Sendable {
        let pointer: OpaquePointer?

        init() {
            pointer = BIO_meth_new(BIO_get_new_index() | BIO_TYPE_SOURCE_SINK, "signalbox")
            guard let pointer else { return }
            BIO_meth_set_read_ex(pointer) { bio, room, size, count in
                guard let room, let count, let wire = TLSWire.of(bio) else { return 0 }
                BIO_clear_flags(bio, BIO_FLAGS_READ | BIO_FLAGS_SHOULD_RETRY)
                count.pointee = wire.read(UnsafeMutableRawBufferPointer(start: room, count: size))
                if count.pointee > 0 { return 1 }
                BIO_set_flags(bio, BIO_FLAGS_READ | BIO_FLAGS_SHOULD_RETRY)
                return 0
            }
            BIO_meth_set_write_ex(pointer) { bio, bytes, size, count in
                guard let bytes, let count, let wire = TLSWire.of(bio) else { return 0 }
                if wire.outgoing.readableBytes == 0 { wire.outgoing.clear() }
                wire.outgoing.writeBytes(UnsafeRawBufferPointer(start: bytes, count: size))
                count.pointee = size
                return 1
            }
            BIO_meth_set_ctrl(pointer) { _, command, _, _ in command == BIO_CTRL_FLUSH ? 1 : 0 }
        }
    }

    private static let method = Method()

    /// The session frees its BIO before its wire, so the pointer is valid whenever OpenSSL calls.
    private static func of(_ bio: OpaquePointer?) -> TLSWire? {
        BIO_get_data(bio).map { Unmanaged<TLSWire>.fromOpaque($0).takeUnretainedValue() }
    }

    private func read(_ room: UnsafeMutableRawBufferPointer) -> Int {
        let count = min(room.count, incoming.readableBytes)
        incoming.readWithUnsafeReadableBytes { bytes in
            room.copyMemory(from: UnsafeRawBufferPointer(rebasing: bytes[..<count]))
            return count
        }
        return count
    }
}
