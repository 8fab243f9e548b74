internal import SignalboxHTTP

/// Names of origins that come from data, such as a browser's subscription.
enum OriginName {
    /// Domains that the public DNS never has (RFC 6761, 6762 and others).
    private static let reserved: Set<Substring> = [
        "alt", "example", "internal", "invalid", "local", "onion", "test",
    ]

    /// Throws for names that can never exist: no later attempt would find a server.
    ///
    /// `isPublic`: the origin may not be on a private network, which has names of its own.
    static func check(_ origin: String, isPublic: Bool) throws(RESTFault) {
        let host = origin.dropFirst("https://".count).prefix { $0 != ":" && $0 != "/" }
        // An address, not a name; the client checks it.
        guard !origin.contains("["), host.contains(where: { $0.isLetter }) else { return }
        let name = host.hasSuffix(".") ? host.dropLast() : host
        let labels = name.split(separator: ".", omittingEmptySubsequences: false)
        let isName =
            name.utf8.count <= 253
            && labels.allSatisfy {
                (1...63).contains($0.utf8.count) && !$0.hasPrefix("-") && !$0.hasSuffix("-")
            }
        let last = labels.last ?? ""
        let isReserved = last == "invalid" || isPublic && reserved.contains(last)
        guard !isName || isReserved else { return }
        throw RESTFault(kind: .invalid, message: "no host can have the name of this origin")
    }
}
