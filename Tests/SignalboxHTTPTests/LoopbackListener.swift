import Foundation
import PluginRig

/// A listening socket on a free port of this machine; who opens it closes it.
struct LoopbackListener {
    let descriptor: Int32
    let port: Int

    /// `receiveBytes`: the size of the receive buffer of its connections, or nil for the system's.
    init(backlog: Int32, receiveBytes: Int32? = nil) throws {
        let descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
        if var receiveBytes {
            setsockopt(
                descriptor, SOL_SOCKET, SO_RCVBUF, &receiveBytes,
                socklen_t(MemoryLayout<Int32>.size))
        }
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_addr.s_addr = inet_addr("127.0.0.1")
        var length = socklen_t(MemoryLayout<sockaddr_in>.size)
        let status = withUnsafeMutablePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                bind(descriptor, $0, length) + listen(descriptor, backlog)
                    + getsockname(descriptor, $0, &length)
            }
        }
        guard status == 0 else { throw PluginRig.Failure(description: "cannot listen") }
        self.descriptor = descriptor
        port = Int(UInt16(bigEndian: address.sin_port))
    }
}
