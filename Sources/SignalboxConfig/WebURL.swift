/// The URL of a network peer.
package enum WebURL {
    /// Whether it is http or https with a host.
    static func isWeb(_ text: String) -> Bool {
        guard let scheme = ["https://", "http://"].first(where: { text.hasPrefix($0) }) else {
            return false
        }
        let rest = text.dropFirst(scheme.utf8.count)
        return rest.first.map { !"/?#:".contains($0) } ?? false
            && rest.utf8.allSatisfy { $0 > 0x20 && $0 != 0x7F }
    }

    /// Whether the data is protected in transit: https, or this host.
    package static func isPrivate(_ text: String) -> Bool {
        if text.hasPrefix("https://") { return text.utf8.count > 8 }
        guard text.hasPrefix("http://") else { return false }
        let authority = text.dropFirst(7).prefix { !"/?#".contains($0) }
        // The host of http://127.0.0.1:1@example.com is example.com.
        guard !authority.contains("@") else { return false }
        return ["127.0.0.1", "localhost", "[::1]"].contains { host in
            authority == host
                || authority.hasPrefix("\(host):")
                    && authority.dropFirst(host.count + 1).allSatisfy(\.isNumber)
        }
    }
}
