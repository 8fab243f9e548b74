import SignalboxPluginKit

/// The `config:` of an instance.
struct Config: Sendable {
    static let schema = Keys.schema(#""family": "webpush", "platforms": ["web"]"#) {
        try Config($0)
    }

    let key: String
    let subject: String
    let connections: Connections
    let allowsPrivateOrigins: Bool

    init(_ keys: Keys) throws(PluginError) {
        key = keys.secret(
            "key", isRequired: true,
            "the VAPID key: a private P-256 key as PEM, such as ${file:secrets/vapid.pem}")
        subject = keys.text(
            "subject", bytes: 1...,
            "whom push services write to: mailto:ops@example.org, or a page")
        connections = keys.connections(64, upTo: 1024, "most requests at a time")
        allowsPrivateOrigins = keys.flag(
            "private_push_services", "subscriptions may name push services on private networks")
        if let fault = Self.fault(of: subject) {
            throw PluginError(
                .invalid,
                "config.subject \(fault): push services refuse it. Write mailto:ops@example.org or "
                    + "https://example.org/contact, with a domain of yours")
        }
    }

    /// Why push services refuse a subject, Apple's with 403 BadJwtToken; nil if they take it.
    private static func fault(of subject: String) -> String? {
        guard subject.utf8.allSatisfy({ $0 > 0x20 && $0 < 0x7F && !"<>\"".utf8.contains($0) })
        else {
            return "has a space or another character that no address has"
        }
        let domain: Substring
        if subject.hasPrefix("mailto:") {
            let parts = subject.dropFirst("mailto:".count).split(
                separator: "@", omittingEmptySubsequences: false)
            guard parts.count == 2, !parts[0].isEmpty, !parts[0].contains(":") else {
                return "is not mailto: and one address"
            }
            domain = parts[1]
        } else if subject.hasPrefix("https://") {
            domain = subject.dropFirst("https://".count).prefix { !"/?#:".contains($0) }
        } else {
            return "begins with neither mailto: nor https://"
        }
        let labels = domain.lowercased().split(separator: ".", omittingEmptySubsequences: false)
        let isDomain =
            labels.count > 1 && !labels.contains("")
            && labels[labels.count - 1].contains { $0.isLetter }
            && !["invalid", "local", "localhost", "test"].contains(labels[labels.count - 1])
        return isDomain ? nil : "names no domain on the Internet"
    }
}
