import Logging
import NIOCore
import NIOEmbedded
import SignalboxCore
import Synchronization

@testable import SignalboxHTTP

extension FuzzTarget {
    /// Bytes of a client: the first one is the size of the pieces in which they come. The requests are the
    /// same as if all had come at once, and within their limits.
    static let http = FuzzTarget(name: "http") { input in
        guard let size = input.first else { return }
        let bytes = [UInt8](input.dropFirst())
        let whole = HTTPRun(bytes, pieces: bytes.count).requests
        let parts = HTTPRun(bytes, pieces: max(1, Int(size))).requests
        require(whole.count == parts.count, "\(whole.count) and \(parts.count) requests")
        for (one, other) in zip(whole, parts) {
            require(one.method == other.method && one.path == other.path, "another target")
            require(one.query == other.query && one.body == other.body, "another content")
            require(one.headers == other.headers, "other headers")
            require(!one.method.isEmpty && !one.path.isEmpty, "no method or path")
            require(!one.path.contains("?"), "a query in the path")
            require(one.body.count <= HTTPRun.bodyBytesMax, "\(one.body.count) bytes of body")
            let size = one.headers.reduce(0) { $0 + $1.key.utf8.count + $1.value.utf8.count }
            require(one.headers.count <= 100 && size <= 64 * 1_024, "\(size) bytes of headers")
        }
    }
}

/// One connection that gets these bytes.
private struct HTTPRun {
    static let bodyBytesMax = 512
    let requests: [HTTPServerRequest]

    init(_ bytes: [UInt8], pieces: Int) {
        let handler = Recorder()
        let channel = EmbeddedChannel()
        var options = HTTPServerOptions(host: "", port: 0)
        options.bodyBytesMax = Self.bodyBytesMax
        // The clock stands still, so nothing seems to have stalled.
        options.nowNs = { 1 }
        let connections = HTTPConnections(
            loop: channel.embeddedEventLoop, logger: quiet, options: options)
        let connection = HTTPConnection(
            channel, connections, options: options, isSecure: false, handler: handler)
        let pipeline = channel.pipeline.syncOperations
        do {
            try pipeline.addHandlers([
                ByteToMessageHandler(
                    RequestDecoder(connection.decoderStops),
                    maximumBufferSize: RequestDecoder.bufferBytesMax), connection,
            ])
        } catch { fatalError("\(error)") }
        channel.connect(to: Self.address, promise: nil)
        var rest = bytes[...]
        while !rest.isEmpty, channel.isActive {
            let piece = rest.prefix(pieces)
            rest = rest.dropFirst(pieces)
            _ = try? channel.writeInbound(ByteBuffer(bytes: piece))
            channel.embeddedEventLoop.run()
        }
        // A client that sends many requests ahead has to wait for its next turn, many times.
        for _ in 0...bytes.count / 64 {
            channel.embeddedEventLoop.advanceTime(by: .milliseconds(100))
        }
        _ = try? channel.finish(acceptAlreadyClosed: true)
        requests = handler.requests.withLock { $0 }
    }

    private static let address: SocketAddress = {
        guard let address = try? SocketAddress(ipAddress: "127.0.0.1", port: 1) else {
            fatalError("127.0.0.1 is not an address")
        }
        return address
    }()
}

private let quiet = Logger(label: "fuzz") { _ in SwiftLogNoOpLogHandler() }

private final class Recorder: HTTPServerHandler {
    let requests = Mutex<[HTTPServerRequest]>([])

    func refusal(method: String, path: String) -> HTTPServerAnswer? {
        path.hasPrefix("/no") ? HTTPServerAnswer(status: 404) : nil
    }

    func answer(
        _ request: HTTPServerRequest, done: @escaping @Sendable (HTTPServerAnswer) -> Void
    ) {
        requests.withLock { $0.append(request) }
        done(HTTPServerAnswer(status: 200, body: [111, 107]))
    }
}
