import Foundation
import Logging
import PluginRig
import SignalboxCore
import SignalboxCrypto
import SignalboxHTTP
import Synchronization

/// A server that speaks HTTP/1.1 over TLS and nothing newer, as customers and chats have.
final class Receiver: Sendable {
    private static let authority = Result { try ThrowAway.certificateAuthority(name: "receivers") }
    /// PEM file of the roots that vouch for all of them.
    static let roots = Result {
        let file = try Workshop.folder().appending(path: "roots.pem")
        try Data(authority.get().certificatePEM).write(to: file)
        return file.path
    }

    private final class Handler: HTTPServerHandler {
        struct State {
            var requests: [HTTPServerRequest] = []
            /// Answers to come; afterwards 200.
            var answers: [HTTPServerAnswer] = []
        }
        let state = Mutex(State())

        func refusal(method: String, path: String) -> HTTPServerAnswer? { nil }
        func answer(
            _ request: HTTPServerRequest, done: @escaping @Sendable (HTTPServerAnswer) -> Void
        ) {
            done(
                state.withLock { state in
                    state.requests.append(request)
                    guard !state.answers.isEmpty else { return HTTPServerAnswer(status: 200) }
                    return state.answers.removeFirst()
                })
        }
    }

    private let handler: Handler
    private let server: HTTPServer

    init(answers: [HTTPServerAnswer] = []) async throws {
        let identity = try ThrowAway.serverIdentity(authority: Self.authority.get())
        var options = HTTPServerOptions(host: "127.0.0.1", port: 0)
        options.tls = ListenerTLS(
            try HTTPServerTLS(
                certificateChainPEM: identity.certificatePEM, privateKeyPEM: identity.privateKeyPEM)
        )
        handler = Handler()
        handler.state.withLock { $0.answers = answers }
        server = try await HTTPServer.start(
            options, logger: Logger(label: "test") { _ in SwiftLogNoOpLogHandler() },
            handler: handler)
    }

    var origin: String { "https://127.0.0.1:\(server.port)" }
    var requests: [HTTPServerRequest] { handler.state.withLock { $0.requests } }
    var bodies: [String] { requests.map { String(decoding: $0.body, as: UTF8.self) } }

    /// Waits for so many requests.
    func wait(for count: Int) async -> [HTTPServerRequest] {
        while requests.count < count { try? await Task.sleep(for: .milliseconds(5)) }
        return requests
    }

    func end() async { await server.shutdown() }
}
