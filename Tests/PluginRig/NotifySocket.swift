import Foundation

/// The socket of a service manager, in which a test reads what a gateway says about itself.
package final class NotifySocket: Sendable {
    /// As `NOTIFY_SOCKET` has it.
    package let name: String
    private let descriptor: Int32

    package init(isAbstract: Bool = false) throws {
        let id = UUID().uuidString
        // A path has at most 107 bytes.
        let path = "/tmp/signalbox-\(id)"
        name = isAbstract ? "@signalbox-\(id)" : path
        descriptor = socket(AF_UNIX, Int32(SOCK_DGRAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue), 0)
        var patience = timeval(tv_sec: 120, tv_usec: 0)
        setsockopt(
            descriptor, SOL_SOCKET, SO_RCVTIMEO, &patience,
            socklen_t(MemoryLayout<timeval>.size))
        var address = sockaddr_un()
        address.sun_family = sa_family_t(AF_UNIX)
        var bytes = Array(name.utf8)
        if isAbstract { bytes[0] = 0 }
        withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: bytes) }
        let size = socklen_t(MemoryLayout<sa_family_t>.size + bytes.count)
        let descriptor = descriptor
        let status = withUnsafePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { bind(descriptor, $0, size) }
        }
        guard status == 0 else {
            throw PluginRig.Failure(description: "no socket: \(String(cString: strerror(errno)))")
        }
    }

    deinit {
        close(descriptor)
        if name.hasPrefix("/") { unlink(name) }
    }

    /// The lines of the next message; waits for it, two minutes at most.
    package func next() async throws -> [String] {
        try await Tool.aside { [descriptor] in
            var bytes = [UInt8](repeating: 0, count: 4_096)
            let count = recv(descriptor, &bytes, bytes.count, 0)
            guard count >= 0 else {
                throw PluginRig.Failure(
                    description: "no message: \(String(cString: strerror(errno)))")
            }
            return String(decoding: bytes.prefix(count), as: UTF8.self)
                .split(separator: "\n").map { String($0) }
        }
    }

    /// All messages up to the first with a line that begins this way.
    package func messages(to line: String) async throws -> [[String]] {
        var all: [[String]] = []
        while true {
            all.append(try await next())
            if all.last?.contains(where: { $0.hasPrefix(line) }) == true { return all }
        }
    }
}
