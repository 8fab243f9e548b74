internal import SignalboxCore
internal import SignalboxCrypto
internal import SignalboxJSON

/// Public keys in JSON (RFC 7517): one key, or a set.
enum JWK {
    /// Parses a document; throws if it has no key that verifies signatures. Other keys are ignored.
    static func keys(_ document: [UInt8]) throws(CryptoError) -> [(id: String?, key: VerifyingKey)]
    {
        guard let json = try? JSONValue.parse(document) else {
            throw CryptoError("this is neither PEM nor a JWK")
        }
        let found = keys(json)
        guard !found.isEmpty else {
            throw CryptoError("there is no RSA, P-256 or Ed25519 public key in this JWK document")
        }
        return found
    }

    /// The keys of a set, or the one key, each with its `kid`.
    static func keys(_ json: JSONValue) -> [(id: String?, key: VerifyingKey)] {
        var all = [json]
        if case .array(let items) = json["keys"] { all = items }
        return all.compactMap { one in key(one).map { (one["kid"]?.string, $0) } }
    }

    /// A key; nil if it is of another kind, malformed, or for encryption.
    private static func key(_ json: JSONValue) -> VerifyingKey? {
        if let use = json["use"]?.string, use != "sig" { return nil }
        func number(_ name: String) -> [UInt8] {
            json[name]?.string.flatMap { Base64.decode($0) } ?? []
        }
        return switch (json["kty"]?.string, json["crv"]?.string) {
        case ("RSA", _): try? VerifyingKey(rsaModulus: number("n"), exponent: number("e"))
        case ("EC", "P-256"): try? VerifyingKey(p256X: number("x"), y: number("y"))
        case ("OKP", "Ed25519"): try? VerifyingKey(ed25519: number("x"))
        default: nil
        }
    }
}
