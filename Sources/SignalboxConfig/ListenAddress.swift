internal import Glibc
internal import SignalboxCore

/// An address to listen on.
public struct ListenAddress: Sendable, Hashable {
    /// The longest path of a Unix socket that the system allows.
    private static let pathBytesMax = 107

    /// A host name or IP address; the absolute path for a Unix socket.
    public var host: String
    /// 0 for any free port, and for a Unix socket.
    public var port: Int

    /// The path of a Unix socket; nil for a TCP address.
    public var path: String? { host.hasPrefix("/") ? host : nil }

    /// Makes an address.
    public init(host: String, port: Int) {
        self.host = host
        self.port = port
    }

    /// Parses `host:port`, `[::1]:8080`, `:8080` and `unix:/run/signalbox/admin.sock`.
    public init?(_ text: String) {
        if text.hasPrefix("unix:") {
            let path = text.dropFirst("unix:".count)
            guard path.hasPrefix("/"), path.utf8.count <= Self.pathBytesMax,
                !path.utf8.contains(0)
            else { return nil }
            self.init(host: String(path), port: 0)
            return
        }
        guard let colon = text.lastIndex(of: ":"),
            let port = Int(text[text.index(after: colon)...]),
            (0...65535).contains(port)
        else { return nil }
        var name = text[..<colon]
        if name.hasPrefix("[") {
            guard name.hasSuffix("]") else { return nil }
            name = name.dropFirst().dropLast()
        } else if name.contains(":") {
            return nil
        }
        guard !name.contains(where: { $0 == " " || $0 == "/" }) else { return nil }
        self.init(host: name.isEmpty ? "0.0.0.0" : String(name), port: port)
    }

    /// What to write instead of an invalid address, if the value shows it.
    static func advice(_ value: ConfigValue) -> String? {
        var text = value.string ?? ""
        if text.hasPrefix("unix:") {
            return "a Unix socket has an absolute path of at most \(pathBytesMax) bytes: "
                + "unix:/run/signalbox/admin.sock"
        }
        if case .integer(let number) = value.kind { text = String(number) }
        if let port = Int(text), (0...65535).contains(port) {
            return "\(port) is a port without a host: write 127.0.0.1:\(port) for this machine "
                + "alone, 0.0.0.0:\(port) for every network"
        }
        if let mark = text.firstRange(of: "://") {
            let rest = text[mark.upperBound...].prefix { $0 != "/" }
            return ListenAddress(String(rest)).map { _ in "an address has no scheme: write \(rest)"
            }
        }
        if bytes(of: text)?.count == 16 { return "the port is missing: write [\(text)]:8080" }
        let isHost = !text.isEmpty && !text.contains { ":/ []".contains($0) }
        return isHost ? "the port is missing: write \(text):8080" : nil
    }

    /// Whether only programs on this machine can reach it.
    ///
    /// Names other than `localhost` do not count, since they may resolve to any address.
    package var isLoopback: Bool {
        if path != nil { return true }
        guard let bytes = Self.bytes(of: host) else { return host.lowercased() == "localhost" }
        return bytes.count == 4
            ? bytes[0] == 127 : bytes.dropLast().allSatisfy { $0 == 0 } && bytes[15] == 1
    }

    /// Whether it stands for all addresses of the machine.
    package var isWildcard: Bool { Self.bytes(of: host)?.allSatisfy { $0 == 0 } ?? false }

    /// The 4 or 16 bytes of an IP address without brackets; nil if it is not one.
    package static func bytes(of host: String) -> [UInt8]? {
        for (family, count) in [(AF_INET, 4), (AF_INET6, 16)] {
            var bytes = [UInt8](repeating: 0, count: count)
            if inet_pton(family, host, &bytes) == 1 { return bytes }
        }
        return nil
    }
}

extension ListenAddress: CustomStringConvertible {
    /// The address as written in gateway.yaml.
    public var description: String {
        if let path { return "unix:\(path)" }
        return host.contains(":") ? "[\(host)]:\(port)" : "\(host):\(port)"
    }
}
