internal import Glibc
package import SignalboxConfig
package import SignalboxHTTP

/// Listening sockets passed to the process by systemd's socket activation.
///
/// The protocol uses two variables and descriptors from 3 on: `LISTEN_FDS` is their number, `LISTEN_PID` their owner,
/// so that child processes do not use them. `LISTEN_FDNAMES` names them.
package struct HandedSockets: Sendable {
    /// The socket for webhooks.
    package private(set) var listen: ListeningSocket?
    /// The socket for operators, named `admin`.
    package private(set) var admin: ListeningSocket?

    package static let none = HandedSockets()
    private init() {}

    /// `first` is the first descriptor.
    package init(
        _ variables: [String: String], process: Int32 = getpid(), first: Int32 = 3
    ) throws(ListenError) {
        guard let count = variables["LISTEN_FDS"].flatMap({ Int32($0) }), count > 0,
            variables["LISTEN_PID"].flatMap({ Int32($0) }) == process
        else { return }
        let names = (variables["LISTEN_FDNAMES"] ?? "").split(
            separator: ":", omittingEmptySubsequences: false)
        for index in 0..<min(count, 16) {
            let name = Int(index) < names.count ? String(names[Int(index)]) : ""
            try add(first + index, name)
        }
    }

    package var isEmpty: Bool { listen == nil && admin == nil }

    package static func address(of socket: ListeningSocket) -> ListenAddress {
        ListenAddress(host: socket.host, port: socket.port)
    }

    private mutating func add(_ descriptor: Int32, _ name: String) throws(ListenError) {
        let isAdmin = name == "admin"
        guard let socket = ListeningSocket(descriptor: descriptor) else {
            throw ListenError(
                message: "LISTEN_FDS: descriptor \(descriptor) (\"\(name)\") is no TCP socket that "
                    + "listens; the .socket unit needs ListenStream= with a port")
        }
        guard (isAdmin ? admin : listen) == nil else {
            throw ListenError(
                message: "LISTEN_FDS: there are two sockets for "
                    + "\(isAdmin ? "gateway.admin" : "gateway.listen"); one for each, with "
                    + "FileDescriptorName=admin in the .socket unit of gateway.admin")
        }
        if isAdmin { admin = socket } else { listen = socket }
    }
}
