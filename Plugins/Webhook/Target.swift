import SignalboxPluginKit

/// The URL of an instance, which is a secret: chats put their password into it.
struct Target {
    private static let placeholder = "{{ token }}"

    /// `https://hooks.example.org`.
    let origin: String
    private let rest: String
    /// Each device has a path of its own.
    var namesToken: Bool { rest.contains(Self.placeholder) }

    init(_ host: Host) throws(PluginError) {
        let url = try host.secretLine("url").replacing("{{token}}", with: Self.placeholder)
        guard url.hasPrefix("https://") else { throw Self.fault("must begin with https://") }
        let authority = url.dropFirst("https://".count).prefix { $0 != "/" && $0 != "?" }
        guard !authority.isEmpty, authority.allSatisfy({ Self.isPlain($0) && $0 != "{" }) else {
            throw Self.fault("has no host, or one with characters that no host has")
        }
        origin = "https://\(authority)"
        let rest = String(url.dropFirst(origin.count))
        self.rest = rest.hasPrefix("/") ? rest : "/\(rest)"
        let fixed = self.rest.replacing(Self.placeholder, with: "")
        guard fixed.allSatisfy(Self.isPlain), !fixed.contains("{") else {
            throw Self.fault("has characters that must be percent-encoded, or another placeholder")
        }
    }

    /// The path for a device; nil if its token cannot be a part of one.
    func path(token: String) -> String? {
        guard namesToken else { return rest }
        let parts = token.split(separator: "/", omittingEmptySubsequences: false)
        guard !token.isEmpty, parts.allSatisfy({ !["", ".", ".."].contains($0) }) else {
            return nil
        }
        return rest.replacing(
            Self.placeholder,
            with: parts.map { PathSegment.encode(String($0)) }.joined(separator: "/"))
    }

    private static func fault(_ words: String) -> PluginError {
        // The URL itself is a secret.
        PluginError(.invalid, "config.url \(words)")
    }

    private static func isPlain(_ character: Character) -> Bool {
        character.isASCII && !character.isWhitespace && character != "\"" && character != "\\"
            && character != "#" && character != "@"
    }
}
