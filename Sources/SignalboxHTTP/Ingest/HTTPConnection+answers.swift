internal import DequeModule
internal import NIOCore
internal import NIOHTTP1
internal import SignalboxCore
internal import SignalboxThreads

/// Answers, in the order of their requests.
extension HTTPConnection {
    /// Answers the request that was read last.
    func answer(_ answer: HTTPServerAnswer) {
        guard case .answering = phase else {
            answer.stream?.end()
            return
        }
        letGo()
        if let stream = answer.stream {
            if !isHead, !isLast, !isInputOver { return begin(stream, after: answer) }
            stream.end()
        }
        enter(.idle)
        noteLeaving()
        write(answer, isClosing: isLast || !isKeptAlive || (isInputOver && early.isEmpty))
        resume()
    }

    /// Sends the beginning of an answer without end.
    func begin(_ stream: AnswerStream, after answer: HTTPServerAnswer) {
        guard let context else { return stream.end() }
        enter(.streaming(stream))
        var buffer = channel.allocator.buffer(capacity: 256 + answer.body.count)
        AnswerBytes(isOld: isOld, isHead: false, saysClose: true, isEndless: true)
            .write(answer, to: &buffer)
        stream.begin { [connections, number] in connections.send(number, $0) }
        context.writeAndFlush(wrapOutboundOut(buffer), promise: nil)
    }

    /// Sends a part of an answer without end, unless the client has not read the earlier ones.
    func send(_ part: [UInt8]) {
        guard case .streaming = phase, let context else { return }
        guard channel.isWritable else { return giveUp() }
        context.writeAndFlush(
            wrapOutboundOut(channel.allocator.buffer(bytes: part)), promise: nil)
    }

    /// Requests that have come already are answered first.
    func noteLeaving() {
        if connections.isLeaving, early.isEmpty { isKeptAlive = false }
    }

    /// Answers a request before it is fully read.
    func refuse(_ answer: HTTPServerAnswer, isEndless: Bool, isWaiting: Bool) {
        request = HTTPServerRequest(method: request.method, path: "")
        letGo()
        noteLeaving()
        if !isEndless {
            // A client that waits for 100 Continue sends no body now.
            enter(.skipping)
            if isWaiting { isLast = true }
            write(answer, isClosing: isWaiting, saysClose: !isKeptAlive)
        } else {
            enter(.dropping(left: isWaiting ? 0 : 4 * options.bodyBytesMax))
            isLast = true
            write(answer, isClosing: isWaiting, saysClose: true)
        }
    }

    /// `isClosing` closes the connection after this answer; `saysClose` adds `connection: close`.
    func write(_ answer: HTTPServerAnswer, isClosing: Bool, saysClose: Bool = false) {
        guard let context else { return }
        var buffer = channel.allocator.buffer(capacity: 256 + answer.body.count)
        AnswerBytes(isOld: isOld, isHead: isHead, saysClose: isClosing || saysClose)
            .write(answer, to: &buffer)
        guard isClosing else {
            context.writeAndFlush(wrapOutboundOut(buffer), promise: nil)
            return
        }
        enter(.closing)
        let channel = channel
        context.writeAndFlush(wrapOutboundOut(buffer)).whenComplete { _ in
            channel.close(promise: nil)
        }
    }
}
