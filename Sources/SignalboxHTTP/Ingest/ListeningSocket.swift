internal import Glibc

/// A TCP socket that already listens: the process that opened it keeps it open, so that connections queue in it
/// while no gateway runs.
public struct ListeningSocket: Sendable {
    let descriptor: Int32
    /// The IP address that it is bound to.
    public let host: String
    /// Its port.
    public let port: Int

    /// Takes over a descriptor, which child processes no longer inherit; nil if it is no TCP socket that listens.
    public init?(descriptor: Int32) {
        var isListening: Int32 = 0
        var size = socklen_t(MemoryLayout<Int32>.size)
        guard
            getsockopt(descriptor, SOL_SOCKET, SO_ACCEPTCONN, &isListening, &size) == 0,
            isListening != 0, let address = Self.address(of: descriptor)
        else { return nil }
        _ = fcntl(descriptor, F_SETFD, FD_CLOEXEC)
        self.descriptor = descriptor
        (host, port) = address
    }

    /// Why no socket can be bound to an address; nil if one can. `mayBeInUse`: another process may listen there now.
    public static func refusal(host: String, port: Int, mayBeInUse: Bool) -> String? {
        if host.hasPrefix("/") { return UnixSocketFile.refusal(host, mayBeInUse: mayBeInUse) }
        var hints = addrinfo()
        hints.ai_socktype = Int32(SOCK_STREAM.rawValue)
        hints.ai_flags = AI_PASSIVE
        var list: UnsafeMutablePointer<addrinfo>?
        let status = getaddrinfo(host, String(port), &hints, &list)
        defer { if let list { freeaddrinfo(list) } }
        guard status == 0, let first = list?.pointee else {
            return String(cString: gai_strerror(status))
        }
        let descriptor = socket(
            first.ai_family, first.ai_socktype | Int32(SOCK_CLOEXEC.rawValue), 0)
        guard descriptor >= 0 else { return String(cString: strerror(errno)) }
        defer { close(descriptor) }
        var isOn: Int32 = 1
        setsockopt(
            descriptor, SOL_SOCKET, SO_REUSEADDR, &isOn, socklen_t(MemoryLayout<Int32>.size))
        if bind(descriptor, first.ai_addr, first.ai_addrlen) == 0 { return nil }
        if errno == EADDRINUSE, mayBeInUse { return nil }
        return String(cString: strerror(errno))
    }

    /// nil if it has no IP address.
    private static func address(of descriptor: Int32) -> (host: String, port: Int)? {
        var storage = sockaddr_storage()
        var size = socklen_t(MemoryLayout<sockaddr_storage>.size)
        var host = [CChar](repeating: 0, count: Int(NI_MAXHOST))
        var port = [CChar](repeating: 0, count: Int(NI_MAXSERV))
        let isKnown = withUnsafeMutablePointer(to: &storage) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { address in
                getsockname(descriptor, address, &size) == 0
                    && [AF_INET, AF_INET6].contains(Int32(address.pointee.sa_family))
                    && getnameinfo(
                        address, size, &host, socklen_t(host.count), &port, socklen_t(port.count),
                        NI_NUMERICHOST | NI_NUMERICSERV) == 0
            }
        }
        guard isKnown, let number = Int(text(port)) else { return nil }
        return (text(host), number)
    }

    private static func text(_ bytes: [CChar]) -> String {
        String(decoding: bytes.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }, as: UTF8.self)
    }
}
