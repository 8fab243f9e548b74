import Foundation
import Glibc
import SignalboxCrypto

/// One client of an `SMTPServer`.
final class SMTPConnection {
    private let server: SMTPServer
    private let fd: Int32
    private let number: Int
    private var tls: SMTPServerTLS.Stream?
    private var input: [UInt8] = []
    private var from = ""
    private var to = ""
    private var isOver = false

    init(_ server: SMTPServer, _ fd: Int32, _ number: Int) {
        self.server = server
        self.fd = fd
        self.number = number
    }

    func serve() {
        if server.options.isTLSFirst {
            tls = server.tls?.accept(fd)
            if tls == nil { return }
        }
        act("") { say("220 test ESMTP") }
        while !isOver, let line = line() {
            server.state.update { $0.lines.append(line) }
            act(line) { command(line) }
        }
        tls?.end()
    }

    /// Follows the script, or does the usual.
    private func act(_ line: String, _ usual: () -> Void) {
        let moment = SMTPServer.Moment(connection: number, line: line, isSecure: tls != nil)
        switch server.options.script(moment) {
        case .usual: usual()
        case .say(let text): say(text)
        case .hangUp: isOver = true
        case .sayAndHangUp(let text):
            say(text)
            isOver = true
        case .stall:
            _ = server.state.wait(for: { $0.isReleased ? true : nil })
            usual()
        }
    }

    private func command(_ line: String) {
        let verb = line.prefix { $0 != " " }.uppercased()
        switch verb {
        case "EHLO":
            let offers =
                server.options.offers + (server.tls != nil && tls == nil ? ["STARTTLS"] : [])
            let all = ["test"] + offers
            say(
                all.enumerated().map { "250\($0 + 1 < all.count ? "-" : " ")\($1)" }
                    .joined(separator: "\r\n"))
        case "STARTTLS":
            say("220 go ahead")
            // Plaintext sent along with the command must not count as part of the TLS session.
            input = []
            tls = server.tls?.accept(fd)
            isOver = tls == nil
        case "AUTH": login(line)
        case "MAIL":
            from = line
            say("250 2.1.0 fine")
        case "RCPT":
            to = line
            say("250 2.1.5 fine")
        case "DATA":
            guard !from.isEmpty, !to.isEmpty else { return say("503 5.5.1 nobody to send it to") }
            say("354 go ahead")
            message()
            (from, to) = ("", "")
        case "RSET":
            (from, to) = ("", "")
            say("250 2.0.0 fine")
        case "QUIT":
            say("221 bye")
            isOver = true
        default: say("250 fine")
        }
    }

    /// Without an initial response: the client sends each part after a 334.
    private func login(_ line: String) {
        server.state.update { $0.logins += 1 }
        let options = server.options
        func next(_ challenge: String) -> String {
            say("334 \(challenge)")
            return String(
                decoding: self.line().flatMap { Base64.decode($0) } ?? [], as: UTF8.self)
        }
        let (user, token) = (options.username, options.password)
        let isIn =
            switch line {
            case "AUTH PLAIN": next("") == "\0\(user)\0\(token)"
            case "AUTH LOGIN": next("VXNlcm5hbWU6") == user && next("UGFzc3dvcmQ6") == token
            case "AUTH XOAUTH2": next("") == "user=\(user)\u{1}auth=Bearer \(token)\u{1}\u{1}"
            case "AUTH OAUTHBEARER":
                next("") == "n,a=\(user),\u{1}host=127.0.0.1\u{1}port=\(server.port)"
                    + "\u{1}auth=Bearer \(token)\u{1}\u{1}"
            default: false
            }
        // RFC 7628, 3.2.3: the fault first, and its code after the client's answer.
        if !isIn, line.hasSuffix("OAUTHBEARER") { _ = next("eyJzdGF0dXMiOiJpbnZhbGlkX3Rva2VuIn0=") }
        say(isIn ? "235 2.7.0 in" : "535 5.7.8 no")
    }

    private func message() {
        var wire = ""
        while let line = line() {
            if line == "." {
                server.state.update { $0.lines.append(line) }
                let mail = SMTPServer.Mail(
                    connection: number, isSecure: tls != nil, from: from, to: to, wire: wire)
                act(".") {
                    server.state.updateAll { $0.mails.append(mail) }
                    say("250 2.0.0 taken")
                }
                return
            }
            wire += line + "\r\n"
        }
        isOver = true
    }

    /// A line without its CRLF. A bare LF stays in the line, so that a test sees it.
    private func line() -> String? {
        while true {
            if let end = input.indices.first(where: {
                input[$0] == 13 && $0 + 1 < input.count && input[$0 + 1] == 10
            }) {
                let line = String(decoding: input[..<end], as: UTF8.self)
                input.removeFirst(end + 2)
                return line
            }
            var chunk = [UInt8](repeating: 0, count: 65_536)
            let got = tls?.read(&chunk) ?? recv(fd, &chunk, chunk.count, 0)
            guard got > 0 else { return nil }
            input += chunk[..<got]
        }
    }

    private func say(_ text: String) {
        let bytes = Array((text + "\r\n").utf8)
        if let tls {
            tls.write(bytes)
        } else {
            _ = send(fd, bytes, bytes.count, Int32(MSG_NOSIGNAL))
        }
    }
}
