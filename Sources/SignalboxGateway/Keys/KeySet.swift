internal import SignalboxCore
internal import SignalboxCrypto
internal import SignalboxJSON

/// Public keys that verify users' tokens.
struct KeySet: Sendable {
    /// A key with its `kid`; a key without one is tried on every token.
    struct Entry: Sendable {
        var id: String?
        var key: VerifyingKey
    }

    var entries: [Entry] = []

    /// Parses PEM public keys or a JWKS document; keys of other kinds are ignored.
    init(_ text: String) throws(CryptoError) {
        if text.contains("-----BEGIN ") {
            for part in Self.blocks(text) {
                entries.append(Entry(id: nil, key: try VerifyingKey(pem: Array(part.utf8))))
            }
        } else {
            try read(jwks: text)
        }
        guard !entries.isEmpty else {
            throw CryptoError("there is no RSA or P-256 public key in it")
        }
    }

    /// Keys that may have signed a token with this `kid`.
    func candidates(_ id: String?) -> [VerifyingKey] {
        entries.filter { id == nil || $0.id == nil || $0.id == id }.map(\.key)
    }

    private mutating func read(jwks text: String) throws(CryptoError) {
        guard let json = try? JSONValue.parse(text), case .array = json["keys"] else {
            throw CryptoError("this is neither PEM nor a JWKS document")
        }
        // Users' tokens are signed with RS256 or ES256.
        for (id, key) in JWK.keys(json) where key.algorithm != .ed25519 {
            entries.append(Entry(id: id, key: key))
        }
    }

    private static func blocks(_ text: String) -> [String] {
        var out: [String] = []
        var block: [Substring] = []
        for line in text.split(separator: "\n") {
            if line.hasPrefix("-----BEGIN ") { block = [] }
            block.append(line)
            if line.hasPrefix("-----END ") {
                out.append(block.joined(separator: "\n") + "\n")
                block = []
            }
        }
        return out
    }
}

/// A parsed signed token (RFC 7515, 7519).
struct UserToken: Sendable {
    /// Why a token is refused; the message goes to the client.
    struct Refusal: Error {
        var words: String
    }

    let header: JSONValue
    let claims: JSONValue
    private let signed: [UInt8]
    private let signature: [UInt8]

    /// Parses a token; nil if the text is not a token.
    init?(_ text: some StringProtocol) {
        let parts = text.split(separator: ".", omittingEmptySubsequences: false)
        guard parts.count == 3, text.utf8.count <= 16_384,
            let head = Base64.decode(canonicalURL: parts[0]),
            let body = Base64.decode(canonicalURL: parts[1]),
            let signature = Base64.decode(canonicalURL: parts[2]),
            let header = try? JSONValue.parse(head),
            let claims = try? JSONValue.parse(body), case .object = header, case .object = claims
        else { return nil }
        self.header = header
        self.claims = claims
        self.signature = signature
        signed = Array("\(parts[0]).\(parts[1])".utf8)
    }

    /// Whether a text is an encrypted token (RFC 7516): five parts, not three.
    static func isEncrypted(_ text: some StringProtocol) -> Bool {
        text.split(separator: ".", omittingEmptySubsequences: false).count == 5
    }

    var issuer: String { claims["iss"]?.string ?? "" }

    /// Whether one of the keys signed it. The key determines the algorithm, not the token.
    func isSigned(by keys: KeySet) -> Bool {
        let algorithm = header["alg"]?.string
        return keys.candidates(header["kid"]?.string).contains { key in
            switch (key.algorithm, algorithm) {
            case (.rsa, "RS256"): key.verifyRS256(signature, data: signed)
            case (.p256, "ES256"): key.verifyES256(signature, data: signed)
            default: false
            }
        }
    }

    /// The user; checks everything except the signature.
    func user(audience: String?, leewayMs: UInt64, nowMs: UInt64) throws(Refusal) -> String {
        // A malformed time must not count as a missing one.
        func time(_ name: String) throws(Refusal) -> Double? {
            switch claims[name] {
            case nil: return nil
            case .integer(let seconds): return Double(seconds)
            case .number(let text):
                if let seconds = Double(text) { return seconds }
            default: break
            }
            throw Refusal(words: "\(name) is not a number")
        }
        // RFC 7515, 4.1.11: a token with unknown critical fields must be refused.
        guard header["crit"] == nil else {
            throw Refusal(words: "the token has critical header fields that are not supported")
        }
        let (now, leeway) = (Double(nowMs) / 1000, Double(leewayMs) / 1000)
        guard let expires = try time("exp") else { throw Refusal(words: "exp is missing") }
        guard expires + leeway > now else { throw Refusal(words: "the token has expired") }
        if let from = try time("nbf"), from - leeway > now {
            throw Refusal(words: "the token is not valid yet")
        }
        if let issued = try time("iat"), issued - leeway > now {
            throw Refusal(words: "the token was issued in the future")
        }
        if let audience, !audiences.contains(audience) {
            throw Refusal(words: "the token is for another audience")
        }
        guard let user = claims["sub"]?.string, !user.isEmpty, user.utf8.count <= 256 else {
            throw Refusal(words: "sub must be a text of 1 to 256 bytes")
        }
        guard user.utf8.allSatisfy({ $0 >= 0x20 && $0 != 0x7F }) else {
            throw Refusal(words: "sub has a control character")
        }
        return user
    }

    private var audiences: [String] {
        if case .array(let items) = claims["aud"] { return items.compactMap(\.string) }
        return claims["aud"]?.string.map { [$0] } ?? []
    }
}
