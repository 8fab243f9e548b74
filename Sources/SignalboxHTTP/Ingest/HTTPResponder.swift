internal import HTTPTypes
internal import HummingbirdCore
internal import NIOCore
internal import NIOSSL
internal import SignalboxCore

/// One request on an ingest connection: refuse early, read the body within bounds, answer.
struct HTTPResponder: Sendable {
    let options: HTTPServerOptions
    let handler: any HTTPServerHandler

    /// Ends a connection whose client would go on sending.
    private struct Unwanted: Error {}

    func respond(
        _ request: Request, _ writer: consuming ResponseWriter, _ channel: any Channel
    ) async throws {
        let target = request.head.path ?? "/"
        let parts = target.split(separator: "?", maxSplits: 1, omittingEmptySubsequences: false)
        let method = request.method.rawValue
        let path = parts.first.map(String.init) ?? "/"
        let announced = request.headers[.contentLength].flatMap { Int($0) } ?? 0
        let isWaiting = request.headers[.expect]?.lowercased() == "100-continue"
        // One walk through the body, whoever reads it.
        var incoming = request.body.makeAsyncIterator()
        if let refusal = handler.refusal(method: method, path: path) {
            try await refuse(
                refusal, &incoming, writer, isEndless: announced > options.bodyBytesMax,
                isWaiting: isWaiting)
            return
        }
        guard announced <= options.bodyBytesMax else {
            try await refuse(
                tooLarge, &incoming, writer, isEndless: true, isWaiting: isWaiting)
            return
        }
        if isWaiting {
            try await writer.writeInformationalHead(HTTPResponse(status: .continue))
        }
        var body: [UInt8] = []
        body.reserveCapacity(announced)
        let deadline = channel.eventLoop.scheduleTask(
            in: .seconds(Int64(options.requestSeconds))
        ) { channel.close(promise: nil) }
        defer { deadline.cancel() }
        while let part = try await incoming.next() {
            guard body.count + part.readableBytes <= options.bodyBytesMax else {
                try await refuse(
                    tooLarge, &incoming, writer, isEndless: true, isWaiting: false)
                return
            }
            body.append(contentsOf: part.readableBytesView)
        }
        deadline.cancel()
        let certificate = options.tls == nil ? [] : await clientCertificate(channel)
        let answer = await handler.answer(
            HTTPServerRequest(
                method: method, path: path, query: parts.count == 2 ? String(parts[1]) : "",
                headers: request.headers.map { Attribute($0.name.canonicalName, $0.value) },
                body: body, remote: channel.remoteAddress?.ipAddress ?? "",
                clientCertificate: certificate))
        try await write(answer, writer)
    }

    private func clientCertificate(_ channel: any Channel) async -> [UInt8] {
        let found = channel.eventLoop.submit {
            try channel.pipeline.syncOperations.handler(type: NIOSSLServerHandler.self)
                .peerCertificate?.toDERBytes()
        }
        return (try? await found.get()) ?? []
    }

    private var tooLarge: HTTPServerAnswer {
        Problem(413, "the body is over \(options.bodyBytesMax) bytes").answer
    }

    private func refuse(
        _ answer: HTTPServerAnswer, _ incoming: inout RequestBody.AsyncIterator,
        _ writer: consuming ResponseWriter, isEndless: Bool, isWaiting: Bool
    ) async throws {
        var closing = answer
        if isEndless { closing.headers.append(Attribute("connection", "close")) }
        try await write(closing, writer)
        guard isEndless else { return }
        // A close while the client still sends would reset the connection before it has read the
        // answer; so a bounded part of what it sends is read and dropped first.
        var left = isWaiting ? 0 : 4 * options.bodyBytesMax
        while left > 0, let part = try await incoming.next() { left -= part.readableBytes }
        throw Unwanted()
    }

    private func write(
        _ answer: HTTPServerAnswer, _ writer: consuming ResponseWriter
    ) async throws {
        var fields = HTTPFields()
        for header in answer.headers {
            if let name = HTTPField.Name(header.key), HTTPField.isValidValue(header.value) {
                fields.append(HTTPField(name: name, value: header.value))
            }
        }
        fields[.contentLength] = String(answer.body.count)
        let head = HTTPResponse(status: .init(code: answer.status), headerFields: fields)
        try await writer.write(
            response: head, body: ResponseBody(byteBuffer: ByteBuffer(bytes: answer.body)))
    }
}
