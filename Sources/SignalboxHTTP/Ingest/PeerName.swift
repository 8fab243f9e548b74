internal import Glibc
internal import NIOCore

/// Who is at the other end of a connection.
enum PeerName {
    /// `struct ucred`, which only GNU sources see.
    struct Credentials {
        var process: pid_t = 0
        var user: uid_t = 0
        var group: gid_t = 0
    }

    /// The IP address; over a Unix socket `uid:1000`, which the kernel vouches for.
    ///
    /// Thread: the event loop.
    static func of(_ channel: any Channel) -> String {
        if let address = channel.remoteAddress?.ipAddress { return address }
        guard let provider = channel as? any SocketOptionProvider else { return "" }
        var name = ""
        let asked: EventLoopFuture<Credentials> = provider.unsafeGetSocketOption(
            level: .socket, name: NIOBSDSocket.Option(rawValue: SO_PEERCRED))
        // On the event loop it is there at once.
        asked.assumeIsolated().whenSuccess { name = "uid:\($0.user)" }
        return name
    }
}
