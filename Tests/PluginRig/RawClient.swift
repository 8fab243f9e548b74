import Foundation

/// A client that sends exactly the bytes it is given, and reads only when told to.
package final class RawClient: Sendable {
    package let descriptor: Int32

    /// Connects to a port of this machine; `takesLittle`: with small system buffers both ways.
    package init(port: Int, takesLittle: Bool = false) throws {
        descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
        setOption(Int32(IPPROTO_TCP), TCP_NODELAY, 1)
        if takesLittle {
            setOption(SOL_SOCKET, SO_RCVBUF, 4_096)
            setOption(SOL_SOCKET, SO_SNDBUF, 4_096)
        }
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_port = in_port_t(UInt16(port).bigEndian)
        address.sin_addr.s_addr = inet_addr("127.0.0.1")
        let status = withUnsafeMutablePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                connect(descriptor, $0, socklen_t(MemoryLayout<sockaddr_in>.size))
            }
        }
        guard status == 0 else {
            throw PluginRig.Failure(description: "nothing listens on port \(port)")
        }
    }

    deinit { close(descriptor) }

    private func setOption(_ level: Int32, _ name: Int32, _ value: Int32) {
        var value = value
        setsockopt(descriptor, level, name, &value, socklen_t(MemoryLayout<Int32>.size))
    }

    /// A read that waits longer ends as if the server had closed.
    package func limitReads(seconds: Int) {
        var time = timeval(tv_sec: seconds, tv_usec: 0)
        setsockopt(
            descriptor, SOL_SOCKET, SO_RCVTIMEO, &time, socklen_t(MemoryLayout<timeval>.size))
    }

    /// Sends everything unless the server closes. Returns how many bytes the system took.
    @discardableResult
    package func send(_ text: String) -> Int { send(Array(text.utf8)) }

    private func send(_ bytes: [UInt8]) -> Int {
        var sent = 0
        while sent < bytes.count {
            let count = bytes[sent...].withUnsafeBytes {
                Foundation.send(descriptor, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL))
            }
            guard count > 0 else { break }
            sent += count
        }
        return sent
    }

    /// Repeats a text until `bytes` are sent or the server closes.
    ///
    /// Returns how many the system took.
    package func flood(_ text: String, bytes: Int) async throws -> Int {
        let part = Array(String(repeating: text, count: max(1, 65_536 / text.utf8.count)).utf8)
        return try await Tool.aside { [self] in
            var sent = 0
            while sent < bytes {
                let count = send(part)
                sent += count
                if count < part.count { break }
            }
            return sent
        }
    }

    package func endSending() { shutdown(descriptor, Int32(SHUT_WR)) }

    /// Reads up to the close, or until `isEnough`.
    package func read(until isEnough: @escaping @Sendable (String) -> Bool) async -> String {
        let text = try? await Tool.aside { [self] in
            var all: [UInt8] = []
            var part = [UInt8](repeating: 0, count: 65_536)
            while !isEnough(String(decoding: all, as: UTF8.self)) {
                let count = Foundation.read(descriptor, &part, part.count)
                guard count > 0 else { break }
                all += part[..<count]
            }
            return String(decoding: all, as: UTF8.self)
        }
        return text ?? ""
    }

    /// Reads up to the close, or until `word` has arrived.
    package func read(until word: String? = nil) async -> String {
        await read { text in word.map { text.contains($0) } ?? false }
    }

    /// The number of bytes up to the close.
    package func readCount() async -> Int {
        let count = try? await Tool.aside { [self] in
            var all = 0
            var part = [UInt8](repeating: 0, count: 65_536)
            while true {
                let count = Foundation.read(descriptor, &part, part.count)
                guard count > 0 else { return all }
                all += count
            }
        }
        return count ?? 0
    }
}
