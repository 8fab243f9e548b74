internal import CNghttp2

/// The C callbacks of a client session; each finds its `PushConnection` in the user data.
///
/// The connection owns the session and frees it first, so the pointer is valid in all of them.
enum PushCallbacks {
    static func makeSession(_ owner: UnsafeMutableRawPointer) -> OpaquePointer? {
        var callbacks: OpaquePointer?
        guard nghttp2_session_callbacks_new(&callbacks) == 0 else { return nil }
        defer { nghttp2_session_callbacks_del(callbacks) }
        nghttp2_session_callbacks_set_on_frame_recv_callback(callbacks) { _, frame, owner in
            guard let frame else { return 0 }
            PushCallbacks.connection(owner)?.received(frame: frame.pointee)
            return 0
        }
        nghttp2_session_callbacks_set_on_header_callback(callbacks) {
            _, frame, name, nameLength, value, valueLength, _, owner in
            guard let frame else { return 0 }
            PushCallbacks.connection(owner)?.header(
                stream: frame.pointee.hd.stream_id,
                name: UnsafeBufferPointer(start: name, count: nameLength),
                value: UnsafeBufferPointer(start: value, count: valueLength))
            return 0
        }
        nghttp2_session_callbacks_set_on_data_chunk_recv_callback(callbacks) {
            _, _, stream, data, length, owner in
            PushCallbacks.connection(owner)?.data(
                stream: stream, UnsafeBufferPointer(start: data, count: length))
            return 0
        }
        nghttp2_session_callbacks_set_on_stream_close_callback(callbacks) {
            _, stream, code, owner in
            PushCallbacks.connection(owner)?.streamClosed(stream, code: code)
            return 0
        }
        var options: OpaquePointer?
        guard nghttp2_option_new(&options) == 0 else { return nil }
        defer { nghttp2_option_del(options) }
        // The pool counts streams itself; nghttp2 must not hold requests back in addition.
        nghttp2_option_set_peer_max_concurrent_streams(options, 1 << 20)
        var session: OpaquePointer?
        guard nghttp2_session_client_new2(&session, callbacks, owner, options) == 0 else {
            return nil
        }
        return session
    }

    static let readBody: nghttp2_data_source_read_callback = {
        _, _, buffer, length, flags, source, owner in
        guard let source, let flags else { return -1 }
        let target = UnsafeMutableRawBufferPointer(start: buffer, count: length)
        let index = Int(source.pointee.fd)
        guard let (count, isEnd) = connection(owner)?.readBody(index: index, into: target) else {
            return -1
        }
        if isEnd { flags.pointee |= NGHTTP2_DATA_FLAG_EOF.rawValue }
        return count
    }

    private static func connection(_ owner: UnsafeMutableRawPointer?) -> PushConnection? {
        owner.map { Unmanaged<PushConnection>.fromOpaque($0).takeUnretainedValue() }
    }
}
