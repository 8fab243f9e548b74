internal import CNghttp2
internal import NIOCore

/// What nghttp2 has to send, with header blocks of our own in its HEADERS frames.
extension PushConnection {
    func drain(_ session: OpaquePointer, into buffer: inout ByteBuffer) -> Bool {
        HTTP2Session.drain(session) { frame in
            if frame.count >= Frame.headSize, UInt32(frame[3]) == NGHTTP2_HEADERS.rawValue {
                return write(request: frame, session, to: &buffer)
            }
            buffer.writeBytes(frame)
            return true
        }
    }

    /// nghttp2's frame has the stream, and whether a body follows. Only requests have HEADERS.
    private func write(
        request frame: UnsafeBufferPointer<UInt8>, _ session: OpaquePointer,
        to buffer: inout ByteBuffer
    ) -> Bool {
        let number = frame[5..<Frame.headSize].reduce(Int32(0)) { $0 << 8 | Int32($1) }
        guard let stream = stream(number), let batch = stream.batch else { return false }
        headers.begin()
        batch.write(fieldsOf: stream.request, authority: authority.all, to: &headers)
        var type = NGHTTP2_HEADERS.rawValue
        var flags = UInt32(frame[4]) & NGHTTP2_FLAG_END_STREAM.rawValue
        headers.block.withUnsafeBytes { block in
            var start = 0
            repeat {
                let count = min(Frame.sizeMax, block.count - start)
                let end = start + count
                if end == block.count { flags |= NGHTTP2_FLAG_END_HEADERS.rawValue }
                buffer.writeMultipleIntegers(UInt32(count) << 8 | type, UInt8(flags), number)
                buffer.writeBytes(UnsafeRawBufferPointer(rebasing: block[start..<end]))
                (type, flags, start) = (NGHTTP2_CONTINUATION.rawValue, 0, end)
            } while start < block.count
        }
        return true
    }

    private enum Frame {
        static let headSize = 9
        /// What every peer takes.
        static let sizeMax = 16_384
    }
}
