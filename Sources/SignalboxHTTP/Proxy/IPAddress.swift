internal import Glibc

/// IP addresses as bytes.
enum IPAddress {
    /// The 4 or 16 bytes of an IP address without brackets; nil if it is not one.
    static func bytes(of host: String) -> [UInt8]? {
        for (family, count) in [(AF_INET, 4), (AF_INET6, 16)] {
            var bytes = [UInt8](repeating: 0, count: count)
            if inet_pton(family, host, &bytes) == 1 { return bytes }
        }
        return nil
    }

    /// Whether a host, a name or an address, is this machine: `localhost`, 127.0.0.0/8, ::1, and the addresses of all zeros,
    /// which the system takes for them.
    static func isLoopback(_ host: String) -> Bool {
        guard var bytes = bytes(of: host) else {
            let name = (host.hasSuffix(".") ? String(host.dropLast()) : host).lowercased()
            return name == "localhost" || name.hasSuffix(".localhost")
        }
        // An IPv4 address written as an IPv6 one.
        if bytes.count == 16, bytes[..<10].allSatisfy({ $0 == 0 }), bytes[10...11] == [0xFF, 0xFF] {
            bytes = Array(bytes[12...])
        }
        if bytes.count == 4, bytes[0] == 127 { return true }
        return bytes.dropLast().allSatisfy { $0 == 0 }
            && (bytes.last ?? 0) <= (bytes.count == 4 ? 0 : 1)
    }
}
