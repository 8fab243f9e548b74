/// An HTTP proxy: connections go through it by CONNECT.
public struct ProxyAddress: Sendable, Hashable {
    /// Why a text is no proxy; holds no part of it, for it may have a password.
    public struct Fault: Error, Sendable, CustomStringConvertible {
        /// The reason.
        public let description: String
    }

    /// A name, or an IP address without brackets.
    public var host: String
    /// TCP port.
    public var port: Int
    /// `user:password` for HTTP Basic; nil if the proxy needs no login.
    public var credentials: String?

    /// Reads `http://user:password@host:port`. As with curl, the scheme may be missing, and the port is 1080 if none is given.
    public init(_ text: String) throws(Fault) {
        var rest = text[...]
        if let mark = text.firstRange(of: "://") {
            guard text[..<mark.lowerBound].lowercased() == "http" else {
                throw Fault(description: "only http:// proxies are supported")
            }
            rest = text[mark.upperBound...]
        }
        if rest.hasSuffix("/") { rest.removeLast() }
        guard rest.utf8.allSatisfy({ $0 > 0x20 && $0 < 0x7F }),
            !rest.contains(where: { "/?#".contains($0) })
        else { throw Fault(description: Self.form) }
        if let at = rest.lastIndex(of: "@") {
            guard let plain = Self.decoded(rest[..<at]) else { throw Fault(description: Self.form) }
            credentials = plain.contains(":") ? plain : plain + ":"
            rest = rest[rest.index(after: at)...]
        }
        port = 1080
        if let colon = rest.lastIndex(of: ":"),
            !rest.hasPrefix("[") || rest[..<colon].hasSuffix("]")
        {
            guard let given = Int(rest[rest.index(after: colon)...]), (1...65535).contains(given)
            else { throw Fault(description: "its port must be 1 to 65535") }
            port = given
            rest = rest[..<colon]
        }
        if rest.hasPrefix("["), rest.hasSuffix("]") { rest = rest.dropFirst().dropLast() }
        guard !rest.isEmpty, !rest.contains(":") || IPAddress.bytes(of: String(rest)) != nil else {
            throw Fault(description: Self.form)
        }
        host = String(rest)
    }

    private static let form = "write it as http://host:port or http://user:password@host:port"

    /// The characters of percent-encoded text; nil if it is malformed, or has control characters.
    private static func decoded(_ text: Substring) -> String? {
        var bytes: [UInt8] = []
        var next = text.utf8.makeIterator()
        while let byte = next.next() {
            guard byte == UInt8(ascii: "%") else {
                bytes.append(byte)
                continue
            }
            guard let first = next.next(), let second = next.next(),
                let value = UInt8(String(decoding: [first, second], as: UTF8.self), radix: 16),
                value >= 0x20
            else { return nil }
            bytes.append(value)
        }
        return String(validating: bytes, as: UTF8.self)
    }
}

extension ProxyAddress: CustomStringConvertible {
    /// Without user and password.
    public var description: String {
        "http://" + (host.contains(":") ? "[\(host)]" : host) + ":\(port)"
    }
}
