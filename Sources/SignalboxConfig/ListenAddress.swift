internal import Glibc
internal import SignalboxCore

/// An address to listen on.
public struct ListenAddress: Sendable, Hashable {
    /// A host name or an IP address.
    public var host: String
    /// 0 for any free port.
    public var port: Int

    /// Makes an address.
    public init(host: String, port: Int) {
        self.host = host
        self.port = port
    }

    /// Reads `host:port`, `[::1]:8080`, `:8080`.
    public init?(_ text: String) {
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

    /// What to write instead of a value that is no address, if that is clear from the value.
    static func advice(_ value: ConfigValue) -> String? {
        var text = value.string ?? ""
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
    /// Any other name than `localhost` may mean any address, so it does not count.
    package var isLoopback: Bool {
        guard let bytes = Self.bytes(of: host) else { return host.lowercased() == "localhost" }
        return bytes.count == 4
            ? bytes[0] == 127 : bytes.dropLast().allSatisfy { $0 == 0 } && bytes[15] == 1
    }

    /// Whether it means every address of the machine.
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
