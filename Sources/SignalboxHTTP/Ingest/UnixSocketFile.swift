internal import Glibc

/// The file of a listening Unix socket: everyone with write permission may connect.
struct UnixSocketFile: Sendable {
    /// Why no socket can be bound there.
    struct Refusal: Error, CustomStringConvertible {
        let description: String
        /// Whether it may resolve itself: the process that listens there may be ending.
        var isTemporary = false
    }

    private let path: String
    /// A socket that is bound there, and does not listen yet.
    let descriptor: Int32
    private let identity: (device: UInt64, inode: UInt64)

    /// Binds a socket, replacing what a killed gateway left behind; throws if another process listens there, or the
    /// file is not a socket.
    init(_ path: String) throws(Refusal) {
        self.path = path
        if let words = Self.refusal(path, mayBeInUse: true) { throw Refusal(description: words) }
        if Self.isListening(path) {
            throw Refusal(description: Self.inUse, isTemporary: true)
        }
        unlink(path)
        let bound = Self.bind(path)
        guard let bound else { throw Refusal(description: String(cString: strerror(errno))) }
        (descriptor, identity) = bound
    }

    /// Only the gateway's user and group may connect. The file inherits the mode of the socket, less the umask, so
    /// that its mode is never wider, not even briefly. If nil, see `errno`.
    private static func bind(
        _ path: String
    ) -> (descriptor: Int32, identity: (device: UInt64, inode: UInt64))? {
        let descriptor = socket(
            AF_UNIX, Int32(SOCK_STREAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue), 0)
        guard descriptor >= 0 else { return nil }
        var address = address(path)
        var facts = stat()
        let status = withUnsafePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { place in
                guard fchmod(descriptor, 0o660) == 0 else { return Int32(-1) }
                return Glibc.bind(descriptor, place, socklen_t(MemoryLayout<sockaddr_un>.size))
            }
        }
        guard status == 0, chmod(path, 0o660) == 0, lstat(path, &facts) == 0 else {
            let fault = errno
            close(descriptor)
            errno = fault
            return nil
        }
        return (descriptor, (UInt64(facts.st_dev), UInt64(facts.st_ino)))
    }

    /// Why no socket can be bound at a path; nil if one can.
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
        return !mayBeInUse && isListening(path) ? inUse : nil
    }

    private static let inUse = "somebody listens there already"

    /// What is in its place.
    enum Place { case own, another, none }

    /// Whether the file is still there.
    var place: Place {
        var facts = stat()
        guard lstat(path, &facts) == 0 else { return errno == ENOENT ? .none : .another }
        return (UInt64(facts.st_dev), UInt64(facts.st_ino)) == identity ? .own : .another
    }

    /// Removes the file, if it is still this one: another gateway may have put its own there.
    func remove() { if place == .own { unlink(path) } }

    private static func address(_ path: String) -> sockaddr_un {
        var address = sockaddr_un()
        address.sun_family = sa_family_t(AF_UNIX)
        withUnsafeMutableBytes(of: &address.sun_path) { place in
            place.copyBytes(from: path.utf8.prefix(place.count - 1))
        }
        return address
    }

    private static func isListening(_ path: String) -> Bool {
        guard let descriptor = connected(path) else { return false }
        close(descriptor)
        return true
    }

    /// A connection to the listening process; nil if nobody listens there.
    static func connected(_ path: String) -> Int32? {
        let descriptor = socket(
            AF_UNIX, Int32(SOCK_STREAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue), 0)
        guard descriptor >= 0 else { return nil }
        var address = address(path)
        let status = withUnsafePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                connect(descriptor, $0, socklen_t(MemoryLayout<sockaddr_un>.size))
            }
        }
        if status == 0 { return descriptor }
        close(descriptor)
        return nil
    }
}
