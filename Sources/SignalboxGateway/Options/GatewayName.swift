internal import Glibc
internal import SignalboxConfig

/// A gateway's name within a fleet: in its log, in `/readyz`, and as the owner of leases in a shared store.
enum GatewayName {
    /// `gateway.name`, or host and port of `listen`: unique per host and stable over restarts. For a Unix socket, its
    /// file replaces the port. Without a fixed port, the process id makes it unique.
    static func of(_ settings: GatewaySettings, listen: ListenAddress?) -> String {
        if let name = settings.name { return name }
        if let path = listen?.path {
            let last = path.split(separator: "/").last ?? ""
            return "\(host):"
                + last.filter { $0.isASCII && ($0.isLetter || $0.isNumber || ".-_".contains($0)) }
        }
        guard let port = listen?.port, port != 0 else { return "\(host):pid-\(getpid())" }
        return "\(host):\(port)"
    }

    private static var host: String {
        var bytes = [CChar](repeating: 0, count: 256)
        guard gethostname(&bytes, bytes.count - 1) == 0 else { return "localhost" }
        return String(
            decoding: bytes.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }, as: UTF8.self)
    }
}
