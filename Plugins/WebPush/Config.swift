import SignalboxPluginKit

/// The `config:` of an instance.
struct Config: Sendable {
    static let schema = """
        {
          "type": "object", "family": "webpush", "required": ["key", "subject"],
          "properties": {
            "key": {
              "type": "string", "format": "secret", "minLength": 1,
              "description": "the VAPID key: a private P-256 key as PEM, such as ${file:secrets/vapid.pem}"
            },
            "subject": {
              "type": "string", "minLength": 1,
              "description": "whom push services write to: mailto:ops@example.org, or a page"
            },
            "ca": {
              "type": "string", "format": "path", "default": "",
              "description": "PEM file of trusted roots instead of the system's"
            },
            "private_push_services": {
              "type": "boolean", "default": false,
              "description": "subscriptions may name push services on private networks"
            },
            "request_timeout_ms": {
              "type": "integer", "minimum": 100, "maximum": 60000, "default": 10000
            },
            "connections": {
              "type": "integer", "minimum": 1, "maximum": 1024, "default": 64,
              "description": "most requests at a time"
            }
          }
        }
        """

    let subject: String
    let caFile: String
    let allowsPrivateOrigins: Bool
    let connections: UInt32
    let requestTimeoutMs: UInt32

    init(_ json: JSON) throws(PluginError) {
        subject = json["subject"]?.string ?? ""
        if let fault = Self.fault(of: subject) {
            throw PluginError(
                .invalid,
                "config.subject \(fault): push services refuse it. Write mailto:ops@example.org or "
                    + "https://example.org/contact, with a domain of yours")
        }
        caFile = json["ca"]?.string ?? ""
        allowsPrivateOrigins = json["private_push_services"]?.boolean ?? false
        connections = UInt32(clamping: json["connections"]?.integer ?? 64)
        requestTimeoutMs = UInt32(clamping: json["request_timeout_ms"]?.integer ?? 10_000)
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
