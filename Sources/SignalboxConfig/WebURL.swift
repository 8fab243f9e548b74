/// The URL of a network peer.
enum WebURL {
    /// Whether nobody on the way can read the data: https, or this host.
    static func isPrivate(_ text: String) -> Bool {
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
