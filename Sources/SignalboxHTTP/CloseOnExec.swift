internal import Glibc
package import NIOCore

/// Keeps sockets from being inherited by child processes. A program started meanwhile, by us or by the
/// host application, would otherwise hold the port after we close it.
extension Channel {
    /// Sets close-on-exec on this channel's socket.
    ///
    /// Thread: the channel's event loop.
    package func closeOnExec() {
        _ = try? pipeline.syncOperations.withUnsafeTransportIfAvailable(
            of: NIOBSDSocket.Handle.self
        ) { socket in
            fcntl(socket, F_SETFD, FD_CLOEXEC)
        }
    }
}
