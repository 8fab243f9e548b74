import Foundation
import Logging
import SignalboxCore
import SignalboxHTTP
import Synchronization

/// An echo server and a client.
final class WebRig: Sendable {
    struct Echo: AsyncHTTPServerHandler {
        let gate: AsyncStream<Void>?

        func refusal(method: String, path: String) -> HTTPServerAnswer? {
            path.hasPrefix("/known") ? nil : Problem(404, "nothing is served here").answer
        }

        func answer(_ request: HTTPServerRequest) async -> HTTPServerAnswer {
            if request.path == "/known/redirect" {
                return HTTPServerAnswer(
                    status: 302, headers: [Attribute("location", "/known/target")])
            }
            if request.path == "/known/large" {
                return HTTPServerAnswer(status: 200, body: [UInt8](repeating: 65, count: 2 << 20))
            }
            if request.path == "/known/wait", let gate {
                for await _ in gate { break }
            }
            let text =
                "\(request.method) \(request.path)?\(request.query) \(request.body.count) "
                + (request.headers.first { $0.key == "x-test" }?.value ?? "")
            return HTTPServerAnswer(
                status: 200, headers: [Attribute("x-echo", "yes")], body: Array(text.utf8))
        }
    }

    let server: HTTPServer
    let client: RESTClient
    let release: AsyncStream<Void>.Continuation

    init(callsMax: Int = 256, bodyBytesMax: Int = 1 << 20) async throws {
        let (gate, release) = AsyncStream.makeStream(of: Void.self)
        self.release = release
        var options = HTTPServerOptions(host: "127.0.0.1", port: 0)
        options.bodyBytesMax = bodyBytesMax
        server = try await HTTPServer.start(
            options, logger: Logger(label: "test") { _ in SwiftLogNoOpLogHandler() },
            handler: Echo(gate: gate))
        client = try RESTClient(callsMax: callsMax)
    }

    func call(_ method: String, _ path: String, body: [UInt8] = []) -> RESTCall {
        var call = RESTCall(
            method: method, url: "http://127.0.0.1:\(server.port)\(path)", body: body)
        // Enough even on a busy machine.
        call.timeoutMs = 120_000
        return call
    }

    func end() async {
        client.shutdown()
        await server.shutdown()
    }
}

/// Counts this process's sockets with that port at either end.
///
/// `inherited` counts those that a started program would inherit.
func inheritedSockets(port: Int) -> (count: Int, inherited: Int) {
    var found = (count: 0, inherited: 0)
    // Other tests may have thousands open.
    let open = (try? FileManager.default.contentsOfDirectory(atPath: "/proc/self/fd")) ?? []
    for descriptor in open.compactMap({ Int32($0) }) {
        let ends = [getsockname, getpeername].map { end -> Int in
            var address = sockaddr_in()
            var length = socklen_t(MemoryLayout<sockaddr_in>.size)
            let status = withUnsafeMutablePointer(to: &address) { pointer in
                pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                    end(descriptor, $0, &length)
                }
            }
            return status == 0 ? Int(UInt16(bigEndian: address.sin_port)) : 0
        }
        guard ends.contains(port) else { continue }
        found.count += 1
        if fcntl(descriptor, F_GETFD) & FD_CLOEXEC == 0 { found.inherited += 1 }
    }
    return found
}
