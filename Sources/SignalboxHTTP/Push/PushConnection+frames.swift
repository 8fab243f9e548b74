internal import CNghttp2
internal import NIOCore
internal import SignalboxCore

/// What nghttp2 calls while it reads frames.
extension PushConnection {
    func received(frame: nghttp2_frame) {
        let flags = frame.hd.flags
        switch UInt32(frame.hd.type) {
        case NGHTTP2_SETTINGS.rawValue:
            guard flags & UInt8(NGHTTP2_FLAG_ACK.rawValue) == 0, let session else { return }
            let settings = UnsafeBufferPointer(start: frame.settings.iv, count: frame.settings.niv)
            let tableSize = NGHTTP2_SETTINGS_HEADER_TABLE_SIZE
            if settings.contains(where: { $0.settings_id == tableSize.rawValue }) {
                let most = nghttp2_session_get_remote_settings(session, tableSize)
                headers.setTable(sizeMax: Int(most))
            }
            let value = nghttp2_session_get_remote_settings(
                session, NGHTTP2_SETTINGS_MAX_CONCURRENT_STREAMS)
            let peerMax = Int(min(value, 1 << 20))
            if isReady {
                owner?.connectionSettings(self, peerMax: peerMax)
            } else {
                isReady = true
                lastReadNs = NIODeadline.now().uptimeNanoseconds
                connectTimer?.cancel()
                owner?.connectionReady(self, peerMax: peerMax)
                armHealth()
            }
        case NGHTTP2_PING.rawValue:
            if flags & UInt8(NGHTTP2_FLAG_ACK.rawValue) != 0 { pingSentNs = nil }
        case NGHTTP2_GOAWAY.rawValue:
            let debug = HTTP2Session.text(
                frame.goaway.opaque_data, min(frame.goaway.opaque_data_len, 512))
            lastStream = frame.goaway.last_stream_id
            closeReason = GoAwayReason.text(code: frame.goaway.error_code, debug: debug)
            owner?.connectionGoAway(self, reason: closeReason)
        case NGHTTP2_HEADERS.rawValue, NGHTTP2_DATA.rawValue:
            if flags & UInt8(NGHTTP2_FLAG_END_STREAM.rawValue) != 0,
                let stream = stream(frame.hd.stream_id)
            {
                stream.isComplete = true
                endUnread(stream)
            }
            if UInt32(frame.hd.type) == NGHTTP2_HEADERS.rawValue,
                let stream = stream(frame.hd.stream_id), stream.status >= 200
            {
                stream.hasHead = true
            }
        default: break
        }
    }

    func header(
        stream id: Int32, name: UnsafeBufferPointer<UInt8>, value: UnsafeBufferPointer<UInt8>
    ) {
        guard let stream = stream(id) else { return }
        if name.first == UInt8(ascii: ":") {
            guard PushBatch.Names.isStatus(name) else { return }
            // An interim answer (1xx) is followed by the final one.
            stream.status = Self.status(value)
            if !stream.headers.isEmpty { stream.headers.removeAll() }
        } else if stream.headers.count < 64 {
            stream.headers.append(
                Attribute(
                    String(decoding: name, as: UTF8.self), String(decoding: value, as: UTF8.self)))
            if stream.hasHead { stream.trailerCount += 1 }
        }
    }

    /// The value of a three-digit number; 0 for anything else.
    private static func status(_ text: UnsafeBufferPointer<UInt8>) -> UInt32 {
        guard text.count == 3 else { return 0 }
        var number: UInt32 = 0
        for byte in text {
            guard (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte) else { return 0 }
            number = number * 10 + UInt32(byte - UInt8(ascii: "0"))
        }
        return number
    }

    func data(stream id: Int32, _ bytes: UnsafeBufferPointer<UInt8>) {
        guard let stream = stream(id) else { return }
        let have = stream.body.count
        stream.body.append(contentsOf: bytes.prefix(max(0, Self.bodyBytesMax - have)))
        if have + bytes.count > Self.bodyBytesMax, let session {
            stream.isComplete = true
            nghttp2_submit_rst_stream(
                session, UInt8(NGHTTP2_FLAG_NONE.rawValue), id, NGHTTP2_CANCEL.rawValue)
        }
    }

    func streamClosed(_ id: Int32, code: UInt32) {
        guard let index = index(ofStream: id) else { return }
        let stream = streams[index]
        openCount -= 1
        hasEnded = true
        // An abandoned stream counted as open until now.
        let slot = stream.isAbandoned ? -1 : stream.slot
        let end: StreamEnd
        if stream.isComplete, stream.status >= 200 {
            end = Self.answer(stream, self.id)
        } else if code == NGHTTP2_REFUSED_STREAM.rawValue {
            end = .moved(isRefused: id <= lastStream)
        } else {
            end = .failed(.reset, Self.words(reset: code))
        }
        stream.end()
        freeStreams.append(index)
        owner?.connection(self, ended: slot, end)
    }

    /// A peer that has answered may never read the rest of the request: the stream would stay open until its time-out,
    /// and the answer be lost.
    func endUnread(_ stream: PushStream) {
        guard stream.status >= 200, !stream.isAbandoned, let session,
            let body = stream.batch?.body(of: stream.request), stream.bodySent < body.count
        else { return }
        nghttp2_submit_rst_stream(
            session, UInt8(NGHTTP2_FLAG_NONE.rawValue), stream.id, NGHTTP2_CANCEL.rawValue)
    }

    static func words(reset code: UInt32) -> String {
        "the peer reset the stream with \(String(cString: nghttp2_http2_strerror(code))) (\(code))"
    }

    func readBody(index: Int, into buffer: UnsafeMutableRawBufferPointer) -> (
        count: Int, isEnd: Bool
    ) {
        guard streams.indices.contains(index) else { return (0, true) }
        let stream = streams[index]
        guard let body = stream.batch?.body(of: stream.request) else { return (0, true) }
        let start = stream.bodySent
        let count = min(buffer.count, body.count - start)
        buffer.copyMemory(
            from: UnsafeRawBufferPointer(
                rebasing: UnsafeRawBufferPointer(body)[start..<start + count]))
        stream.bodySent = start + count
        return (count, start + count == body.count)
    }

    func index(ofStream id: Int32) -> Int? {
        guard let session, let data = nghttp2_session_get_stream_user_data(session, id) else {
            return nil
        }
        let index = Int(bitPattern: data) - 1
        return streams.indices.contains(index) && streams[index].batch != nil ? index : nil
    }

    func stream(_ id: Int32) -> PushStream? { index(ofStream: id).map { streams[$0] } }

    static func answer(_ stream: PushStream, _ connection: UInt64) -> StreamEnd {
        guard let batch = stream.batch else { return .failed(.lost, "") }
        return .answered(
            HTTPResponse(
                status: stream.status, headers: stream.headers, body: stream.body,
                items: batch.items(of: stream.request), connection: connection,
                context: batch.context(of: stream.request), trailerCount: stream.trailerCount,
                shortened: batch.shortened(of: stream.request)))
    }
}
