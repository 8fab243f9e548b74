internal import Glibc
internal import SignalboxThreads

/// The service manager that started the process and wants to hear how it is, as sd_notify(3) describes.
///
/// `NOTIFY_SOCKET` names a datagram socket, `WATCHDOG_USEC` the time after which silence counts as a hang, and
/// `WATCHDOG_PID` whom that is for. No library is needed.
package final class Supervisor: Sendable {
    /// The manager restarts a process that has not said `isAlive` for this long; nil: it does not watch.
    let patienceMs: UInt64?
    private let socket: Int32
    /// The name in the socket's address; its first byte is 0 if the name is abstract.
    private let name: [UInt8]

    /// nil: nobody wants to hear anything.
    init?(_ variables: [String: String], process: Int32 = getpid()) throws(ListenError) {
        guard let path = variables["NOTIFY_SOCKET"], !path.isEmpty else { return nil }
        // An abstract name begins with "@" and is counted; the name of a file ends with 0.
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
        // A manager that hangs holds nothing up for longer.
        var second = timeval(tv_sec: 1, tv_usec: 0)
        setsockopt(
            socket, SOL_SOCKET, SO_SNDTIMEO, &second, socklen_t(MemoryLayout<timeval>.size))
    }

    deinit { close(socket) }

    /// The process works: after the start, and after each reload, whatever its result.
    package func isReady(_ status: String) { tell("READY=1", status) }

    func isReloading() {
        tell("RELOADING=1\nMONOTONIC_USEC=\(SystemClock.monotonicNs / 1_000)", "Reloading")
    }

    /// The unit need not know how long gateway.yaml lets a stop take.
    package func isStopping(withinMs ms: UInt64) {
        tell("STOPPING=1\nEXTEND_TIMEOUT_USEC=\(ms * 1_000)", "Sending what is in memory")
    }

    func isAlive() { tell("WATCHDOG=1") }

    func isSilent(_ status: String) { tell(nil, status) }

    private func tell(_ state: String?, _ status: String? = nil) {
        // A line break would begin the next field.
        let line = status.map { "STATUS=" + String($0.map { $0.isNewline ? " " : $0 }) }
        let message = [state, line].compactMap(\.self).joined(separator: "\n")
        var address = sockaddr_un()
        address.sun_family = sa_family_t(AF_UNIX)
        withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: name) }
        let size = socklen_t(MemoryLayout<sockaddr_un>.size - Self.nameBytesMax + name.count)
        // Nothing depends on whether it arrives; the manager notices what is missing.
        withUnsafePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                _ = sendto(
                    socket, message, message.utf8.count, Int32(MSG_NOSIGNAL), $0, size)
            }
        }
    }

    private static let nameBytesMax = MemoryLayout.size(ofValue: sockaddr_un().sun_path)
}
