import Foundation
import Synchronization

/// Ports for listeners that must reopen on the same port or announce it beforehand.
package enum OwnPort {
    /// Below the range from which the system assigns ports.
    ///
    /// No other test on this machine gets the port while it is unused.
    private static let range = 20_000..<32_000
    private static let taken = Mutex<Set<Int>>([])

    /// Returns a port on which nobody listens; each port is given out once.
    package static func take() throws -> Int {
        for _ in 0..<1_000 {
            let port = Int.random(in: range)
            guard taken.withLock({ $0.insert(port).inserted }), isFree(port) else { continue }
            return port
        }
        throw PluginRig.Failure(description: "no port between 20000 and 32000 is free")
    }

    private static func isFree(_ port: Int) -> Bool {
        let descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
        defer { close(descriptor) }
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_port = in_port_t(UInt16(port).bigEndian)
        address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
        return withUnsafePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                bind(descriptor, $0, socklen_t(MemoryLayout<sockaddr_in>.size)) == 0
            }
        }
    }
}
