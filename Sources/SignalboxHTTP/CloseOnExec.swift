internal import Glibc
internal import NIOCore

/// Sockets are for this process alone. One that a program inherits which is started meanwhile, by us or by the
/// host that we are embedded in, would keep the port taken after we have closed it.
extension Channel {
    /// Says so of this channel's socket.
    ///
    /// Thread: the channel's event loop.
    func closeOnExec() {
        _ = try? pipeline.syncOperations.withUnsafeTransportIfAvailable(
            of: NIOBSDSocket.Handle.self
        ) { socket in
            fcntl(socket, F_SETFD, FD_CLOEXEC)
        }
    }
}
