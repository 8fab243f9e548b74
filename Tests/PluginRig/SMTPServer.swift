import Foundation
import Glibc
import SignalboxCrypto
import SignalboxThreads

/// A mail server for tests, with real sockets and TLS.
///
/// It records everything and misbehaves by script. Each connection has its own thread.
package final class SMTPServer: Sendable {
    /// What a client has just done.
    package struct Moment: Sendable {
        /// Counts from 1.
        package var connection: Int
        /// The command; empty on connecting, "." at the end of a message.
        package var line: String
        package var isSecure: Bool
    }

    /// The server's reaction.
    package enum Action: Sendable {
        case usual
        /// Says this, line by line, and continues.
        case say(String)
        case hangUp
        case sayAndHangUp(String)
        /// Waits for `release`, then does the usual.
        case stall
    }

    /// An accepted message.
    package struct Mail: Sendable {
        package var connection: Int
        package var isSecure: Bool
        package var from: String
        package var to: String
        /// The bytes on the wire, without the final dot.
        package var wire: String
    }

    package struct Options: Sendable {
        package var identity: ThrowAway.Identity?
        /// TLS from the first byte.
        package var isTLSFirst = false
        package var offers = ["SIZE 1000000", "8BITMIME", "ENHANCEDSTATUSCODES"]
        /// The only user who may log in, with this password or access token.
        package var username = ""
        package var password = ""
        package var script: @Sendable (Moment) -> Action

        package init(_ script: @escaping @Sendable (Moment) -> Action = { _ in .usual }) {
            self.script = script
        }
    }

    struct State: Sendable {
        var mails: [Mail] = []
        var lines: [String] = []
        var connections = 0
        var logins = 0
        var sockets: Set<Int32> = []
        var isListening = true
        var isReleased = false
        var isOver = false
    }

    package let port: Int
    let options: Options
    let tls: SMTPServerTLS?
    let state = Gate(State())
    private let socket: Int32

    package init(_ options: Options = Options()) throws {
        self.options = options
        tls = try options.identity.map { try SMTPServerTLS($0) }
        socket = Glibc.socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_addr.s_addr = in_addr_t(0x7F00_0001).bigEndian
        var length = socklen_t(MemoryLayout<sockaddr_in>.size)
        let fd = socket
        let isBound = withUnsafeMutablePointer(to: &address) {
            $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                bind(fd, $0, length) == 0 && listen(fd, 64) == 0
                    && getsockname(fd, $0, &length) == 0
            }
        }
        guard fd >= 0, isBound else { throw PluginRig.Failure(description: "no port") }
        port = Int(UInt16(bigEndian: address.sin_port))
        SystemThread.start("sbx-test") { self.accept() }
    }

    package var mails: [Mail] { state.update { $0.mails } }
    /// Commands of all connections, in order of arrival.
    package var lines: [String] { state.update { $0.lines } }
    package var connections: Int { state.update { $0.connections } }
    /// Open connections.
    package var openConnections: Int { state.update { $0.sockets.count } }
    package var isListening: Bool { state.update { $0.isListening } }
    /// The number of login attempts.
    package var logins: Int { state.update { $0.logins } }

    /// Ends current and later stalls.
    package func release() { state.updateAll { $0.isReleased = true } }

    /// Closes everything.
    package func shutdown() {
        // Under the lock: a descriptor in the set is not closed yet, so its number is not reused.
        state.update { state in
            state.isOver = true
            for one in state.sockets { _ = Glibc.shutdown(one, Int32(SHUT_RDWR)) }
            if state.isListening { _ = Glibc.shutdown(socket, Int32(SHUT_RDWR)) }
        }
        release()
    }

    private func accept() {
        while true {
            let fd = Glibc.accept(socket, nil, nil)
            if fd < 0 { break }
            let number = state.update { state -> Int? in
                guard !state.isOver else { return nil }
                state.sockets.insert(fd)
                state.connections += 1
                return state.connections
            }
            guard let number else {
                close(fd)
                break
            }
            var one: Int32 = 1
            setsockopt(
                fd, Int32(IPPROTO_TCP), TCP_NODELAY, &one, socklen_t(MemoryLayout<Int32>.size))
            SystemThread.start("sbx-test") {
                SMTPConnection(self, fd, number).serve()
                self.state.updateAll { $0.sockets.remove(fd) }
                close(fd)
            }
        }
        state.update { $0.isListening = false }
        close(socket)
    }
}
