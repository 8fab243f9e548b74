internal import Glibc

/// The process that listens on a Unix socket.
package enum SocketOwner {
    /// Its id; 0 if it is in another container, nil if nobody listens there.
    package static func process(listeningOn path: String) -> Int32? {
        guard let descriptor = UnixSocketFile.connected(path) else { return nil }
        defer { close(descriptor) }
        var peer = PeerName.Credentials()
        var size = socklen_t(MemoryLayout<PeerName.Credentials>.size)
        guard getsockopt(descriptor, SOL_SOCKET, SO_PEERCRED, &peer, &size) == 0 else { return 0 }
        return peer.process
    }
}
