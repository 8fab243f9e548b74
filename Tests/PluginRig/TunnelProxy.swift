import Foundation
import SignalboxThreads

/// A small HTTP proxy that breaks what it is told to.
///
/// CONNECT leads to the port of this machine that it names, whatever host it names: so hosts have names that nobody else knows.
package final class TunnelProxy: Sendable {
    /// What it does with a connection.
    package enum Mode: Sendable {
        /// Connects it.
        case passing
        /// Answers CONNECT with this text, and closes.
        case answering(String)
        /// Answers nothing.
        case silent
    }

    private struct State {
        var mode = Mode.passing
        var open: Set<Int32> = []
        var heads: [String] = []
    }

    package let port: Int
    private let listener: Int32
    private let state = Gate(State())

    package init() throws {
        let listener = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
        var address = Self.local(port: 0)
        var size = socklen_t(MemoryLayout<sockaddr_in>.size)
        let isListening = withUnsafeMutablePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                bind(listener, $0, size) == 0 && Foundation.listen(listener, 64) == 0
                    && getsockname(listener, $0, &size) == 0
            }
        }
        guard isListening else { throw PluginRig.Failure(description: "the proxy cannot listen") }
        self.listener = listener
        port = Int(UInt16(bigEndian: address.sin_port))
        SystemThread.start("proxy") { self.accept() }
    }

    /// The heads of the requests that it got.
    package var heads: [String] { state.update { $0.heads } }

    package func set(_ mode: Mode) { state.updateAll { $0.mode = mode } }

    /// Ends the connections that it has.
    package func cut() {
        state.updateAll { state in state.open.forEach { shutdown($0, Int32(SHUT_RDWR)) } }
    }

    /// Ends everything.
    package func close() {
        shutdown(listener, Int32(SHUT_RDWR))
        cut()
    }

    private static func local(port: Int) -> sockaddr_in {
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_port = in_port_t(UInt16(port).bigEndian)
        address.sin_addr.s_addr = inet_addr("127.0.0.1")
        return address
    }

    private func accept() {
        while true {
            let client = Foundation.accept(listener, nil, nil)
            guard client >= 0 else { return _ = Foundation.close(listener) }
            SystemThread.start("proxy") { self.serve(client) }
        }
    }

    private func serve(_ client: Int32) {
        let server = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
        defer { for end in [client, server] { Foundation.close(end) } }
        state.update { $0.open.formUnion([client, server]) }
        defer { state.update { $0.open.subtract([client, server]) } }
        guard let head = readHead(client) else { return }
        let mode = state.update { state in
            state.heads.append(head)
            return state.mode
        }
        switch mode {
        case .silent: while read(client) != nil {}
        case .answering(let text): send(Array(text.utf8), to: client)
        case .passing:
            let target = head.split(separator: " ").dropFirst().first ?? ""
            guard let port = Int(target.split(separator: ":").last ?? ""), connect(server, port)
            else { return _ = send(Array("HTTP/1.1 502 No\r\n\r\n".utf8), to: client) }
            send(Array("HTTP/1.1 200 Connected\r\nvia: a test\r\n\r\n".utf8), to: client)
            let back = Gate(false)
            SystemThread.start("proxy") {
                self.pass(from: server, to: client)
                back.updateAll { $0 = true }
            }
            pass(from: client, to: server)
            back.wait(for: { $0 ? () : nil })
        }
    }

    private func connect(_ socket: Int32, _ port: Int) -> Bool {
        var address = Self.local(port: port)
        return withUnsafePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                Foundation.connect(socket, $0, socklen_t(MemoryLayout<sockaddr_in>.size)) == 0
            }
        }
    }

    private func readHead(_ client: Int32) -> String? {
        var text = ""
        while !text.hasSuffix("\r\n\r\n") {
            guard let part = read(client) else { return nil }
            text += String(decoding: part, as: UTF8.self)
        }
        return text
    }

    private func read(_ source: Int32) -> [UInt8]? {
        var buffer = [UInt8](repeating: 0, count: 65_536)
        let count = Foundation.read(source, &buffer, buffer.count)
        return count > 0 ? Array(buffer[..<count]) : nil
    }

    private func pass(from source: Int32, to target: Int32) {
        defer { for end in [source, target] { shutdown(end, Int32(SHUT_RDWR)) } }
        while let part = read(source), send(part, to: target) {}
    }

    @discardableResult
    private func send(_ part: [UInt8], to target: Int32) -> Bool {
        var sent = 0
        while sent < part.count {
            let count = part[sent...].withUnsafeBytes {
                Foundation.send(target, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL))
            }
            guard count > 0 else { return false }
            sent += count
        }
        return true
    }
}
