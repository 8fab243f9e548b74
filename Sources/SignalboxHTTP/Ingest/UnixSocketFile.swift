internal import CLinux
internal import Glibc

/// The file of a listening Unix socket: whoever may write to it may connect.
struct UnixSocketFile: Sendable {
    /// Why no socket can be bound there.
    struct Refusal: Error, CustomStringConvertible {
        let description: String
    }

    private let path: String

    /// Removes what a gateway that was killed has left; throws if somebody listens there, or it is no socket.
    init(_ path: String) throws(Refusal) {
        self.path = path
        if let words = Self.refusal(path, mayBeInUse: false) { throw Refusal(description: words) }
        unlink(path)
    }

    /// Why no socket can be bound at a path, as words; nil: one can.
    static func refusal(_ path: String, mayBeInUse: Bool) -> String? {
        let slash = path.lastIndex(of: "/") ?? path.startIndex
        let folder = slash == path.startIndex ? "/" : String(path[..<slash])
        var facts = stat()
        guard lstat(path, &facts) == 0 else {
            if errno != ENOENT { return String(cString: strerror(errno)) }
            guard access(folder, W_OK | X_OK) == 0 else {
                return "\(folder): \(String(cString: strerror(errno)))"
            }
            return nil
        }
        guard facts.st_mode & S_IFMT == S_IFSOCK else { return "there is a file that is no socket" }
        return !mayBeInUse && isListening(path) ? "somebody listens there already" : nil
    }

    /// Lets the gateway's user and group connect, and nobody else.
    func open() throws(Refusal) {
        guard chmod(path, 0o660) == 0 else {
            throw Refusal(description: String(cString: strerror(errno)))
        }
    }

    func remove() { unlink(path) }

    private static func isListening(_ path: String) -> Bool {
        let descriptor = socket(
            AF_UNIX, Int32(SOCK_STREAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue), 0)
        guard descriptor >= 0 else { return false }
        defer { close(descriptor) }
        var address = sockaddr_un()
        address.sun_family = sa_family_t(AF_UNIX)
        withUnsafeMutableBytes(of: &address.sun_path) { place in
            place.copyBytes(from: path.utf8.prefix(place.count - 1))
        }
        let status = withUnsafePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                connect(descriptor, $0, socklen_t(MemoryLayout<sockaddr_un>.size))
            }
        }
        return status == 0
    }
}
