internal import Glibc
internal import SignalboxThreads

/// The service manager that started the process and wants status notifications, as in sd_notify(3).
///
/// `NOTIFY_SOCKET` names a datagram socket, `WATCHDOG_USEC` the time after which silence counts as a hang, and
/// `WATCHDOG_PID` the process to watch. No library is needed.
package final class Supervisor: Sendable {
    /// The manager restarts a process that has not sent `isAlive` for this long; nil if it does not watch.
    let patienceMs: UInt64?
    private let socket: Int32
    /// The name in the socket's address; its first byte is 0 if the name is abstract.
    private let name: [UInt8]

    /// nil if no manager wants notifications.
    init?(_ variables: [String: String], process: Int32 = getpid()) throws(ListenError) {
        guard let path = variables["NOTIFY_SOCKET"], !path.isEmpty else { return nil }
        // An abstract name begins with "@" and has a length; a file name ends with 0.
        name = path.hasPrefix("@") ? [0] + path.utf8.dropFirst() : Array(path.utf8) + [0]
        guard path.hasPrefix("@") || path.hasPrefix("/"), name.count <= Self.nameBytesMax else {
            throw ListenError(
                message: "NOTIFY_SOCKET: \(path) is neither an absolute path nor @NAME of at most "
                    + "\(Self.nameBytesMax - 1) bytes")
        }
        let isMeant = variables["WATCHDOG_PID"].map { Int32($0) == process } ?? true
        patienceMs =
            isMeant ? variables["WATCHDOG_USEC"].flatMap { UInt64($0) }.map { $0 / 1_000 } : nil
        socket = Glibc.socket(
            AF_UNIX, Int32(SOCK_DGRAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue), 0)
        guard socket >= 0 else {
            throw ListenError(
                message: "NOTIFY_SOCKET: no socket: \(String(cString: strerror(errno)))")
        }
        // Limits how long a hanging manager can block the gateway.
        var second = timeval(tv_sec: 1, tv_usec: 0)
        setsockopt(
            socket, SOL_SOCKET, SO_SNDTIMEO, &second, socklen_t(MemoryLayout<timeval>.size))
    }

    deinit { close(socket) }

    /// The process is running: sent after startup and after each reload, whatever its result.
    package func isReady(_ status: String) { tell("READY=1", status) }

    func isReloading() {
        tell("RELOADING=1\nMONOTONIC_USEC=\(SystemClock.monotonicNs / 1_000)", "Reloading")
    }

    /// Sends the stop time-out, since the unit file cannot know that of gateway.yaml.
    package func isStopping(withinMs ms: UInt64) {
        tell("STOPPING=1\nEXTEND_TIMEOUT_USEC=\(ms * 1_000)", "Sending what is in memory")
    }

    func isAlive() { tell("WATCHDOG=1") }

    func isSilent(_ status: String) { tell(nil, status) }

    private func tell(_ state: String?, _ status: String? = nil) {
        // A line break would start the next field.
        let line = status.map { "STATUS=" + String($0.map { $0.isNewline ? " " : $0 }) }
        let message = [state, line].compactMap(\.self).joined(separator: "\n")
        var address = sockaddr_un()
        address.sun_family = sa_family_t(AF_UNIX)
        withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: name) }
        let size = socklen_t(MemoryLayout<sockaddr_un>.size - Self.nameBytesMax + name.count)
        // Lost messages do no harm; the manager notices when one is missing.
        withUnsafePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                _ = sendto(
                    socket, message, message.utf8.count, Int32(MSG_NOSIGNAL), $0, size)
            }
        }
    }

    private static let nameBytesMax = MemoryLayout.size(ofValue: sockaddr_un().sun_path)
}
