internal import COpenSSL

/// A private key: EC P-256, Ed25519, or RSA of at least 2048 bits.
///
/// `@unchecked Sendable`: the key is never changed after `init`, and OpenSSL 3 lets any number of
/// threads sign with one key, each with its own context.
public final class SigningKey: @unchecked Sendable {
    /// The kind of key.
    public enum Kind: Sendable {
        /// EC on P-256: signs ES256.
        case p256
        /// RSA: signs RS256 and PS256.
        case rsa
        /// Ed25519 (RFC 8032).
        case ed25519
    }

    /// The kind of key.
    public let kind: Kind
    private let key: OpaquePointer

    /// Reads a PEM key: PKCS#8, SEC 1 or PKCS#1. `password` decrypts it; nil for none.
    public init(pem: [UInt8], password: [UInt8]? = nil) throws(CryptoError) {
        guard let key = Self.read(pem, password: password) else {
            throw CryptoError(
                password == nil
                    ? "this is not a private key in PEM form (or it needs a password)"
                    : "this is not a private key in PEM form (or the password does not open it)")
        }
        do {
            kind = try Self.kind(of: key)
            self.key = key
        } catch {
            EVP_PKEY_free(key)
            throw error
        }
    }

    /// A private key from a PEM text; the caller owns it.
    static func read(_ pem: [UInt8], password: [UInt8]? = nil) -> OpaquePointer? {
        defer { ERR_clear_error() }
        var opener = password.map { $0 + [0] } ?? []
        return reading(pem) { bio in
            opener.withUnsafeMutableBytes { opener -> OpaquePointer? in
                if let start = opener.baseAddress {
                    // Without a callback OpenSSL uses the last argument as the password.
                    return PEM_read_bio_PrivateKey(bio, nil, nil, start)
                }
                // The callback refuses, so that OpenSSL does not ask for a password on the terminal.
                return PEM_read_bio_PrivateKey(bio, nil, { _, _, _, _ in -1 }, nil)
            }
        }
    }

    init(owning key: OpaquePointer, kind: Kind) {
        self.key = key
        self.kind = kind
    }

    deinit { EVP_PKEY_free(key) }

    /// ES256: raw r‖s, 64 bytes.
    public func signES256(_ data: [UInt8]) throws(CryptoError) -> [UInt8] {
        guard kind == .p256 else { throw CryptoError("ES256 needs an EC key on P-256") }
        return try EllipticSignature.raw(fromDER: try sign(data, isPSS: false))
    }

    /// RS256: PKCS#1 v1.5 over SHA-256.
    public func signRS256(_ data: [UInt8]) throws(CryptoError) -> [UInt8] {
        guard kind == .rsa else { throw CryptoError("RS256 needs an RSA key") }
        return try sign(data, isPSS: false)
    }

    /// PS256: PSS over SHA-256 with a salt of 32 bytes.
    public func signPS256(_ data: [UInt8]) throws(CryptoError) -> [UInt8] {
        guard kind == .rsa else { throw CryptoError("PS256 needs an RSA key") }
        return try sign(data, isPSS: true)
    }

    /// Ed25519: 64 bytes.
    public func signEd25519(_ data: [UInt8]) throws(CryptoError) -> [UInt8] {
        guard kind == .ed25519 else { throw CryptoError("Ed25519 needs a key of that kind") }
        return try sign(data, isPSS: false)
    }

    /// The public half as bytes: the uncompressed point, or Ed25519's 32 bytes; nil for RSA.
    public var publicKeyRaw: [UInt8]? {
        switch kind {
        case .p256: [4] + number("qx", 32) + number("qy", 32)
        case .ed25519: edwardsPoint
        case .rsa: nil
        }
    }

    /// The public half as a JWK, with the members and the order of RFC 7638.
    public var publicKeyJWK: String {
        func text(_ bytes: [UInt8]) -> String { Base64.encode(bytes, url: true) }
        return switch kind {
        case .p256:
            #"{"crv":"P-256","kty":"EC","x":"\#(text(number("qx", 32)))","y":"\#(text(number("qy", 32)))"}"#
        case .ed25519: #"{"crv":"Ed25519","kty":"OKP","x":"\#(text(edwardsPoint))"}"#
        case .rsa: #"{"e":"\#(text(number("e")))","kty":"RSA","n":"\#(text(number("n")))"}"#
        }
    }

    /// A number of the public key, big endian; `width` pads it.
    private func number(_ name: String, _ width: Int = 0) -> [UInt8] {
        var out = [UInt8](repeating: 0, count: 2_048)
        let count = csbx_public_number(key, name, &out, Int32(width), Int32(out.count))
        return Array(out.prefix(Int(max(0, count))))
    }

    private var edwardsPoint: [UInt8] {
        var out = [UInt8](repeating: 0, count: 32)
        var count = 32
        return EVP_PKEY_get_raw_public_key(key, &out, &count) == 1 ? out : []
    }

    /// The public half in PEM form.
    public func publicKeyPEM() throws(CryptoError) -> [UInt8] {
        try PEM.bytes { PEM_write_bio_PUBKEY($0, key) }
    }

    /// The key in PKCS#8 PEM form, without a password.
    public func privateKeyPEM() throws(CryptoError) -> [UInt8] {
        try PEM.bytes { PEM_write_bio_PKCS8PrivateKey($0, key, nil, nil, 0, nil, nil) }
    }

    func withKey<Result>(_ body: (OpaquePointer) throws -> Result) rethrows -> Result {
        try body(key)
    }

    static func kind(of key: OpaquePointer) throws(CryptoError) -> Kind {
        switch EVP_PKEY_get_base_id(key) {
        case EVP_PKEY_EC:
            guard csbx_pkey_is_p256(key) == 1 else {
                throw CryptoError("the EC key is on another curve than P-256")
            }
            return .p256
        case EVP_PKEY_RSA:
            guard EVP_PKEY_get_bits(key) >= 2048 else {
                throw CryptoError("the RSA key has fewer than 2048 bits")
            }
            return .rsa
        case EVP_PKEY_ED25519: return .ed25519
        default: throw CryptoError("the key is neither EC P-256 nor Ed25519 nor RSA")
        }
    }

    /// The digest that a kind of key signs; Ed25519 has its own inside.
    static func digest(of kind: Kind) -> OpaquePointer? { kind == .ed25519 ? nil : EVP_sha256() }

    private func sign(_ data: [UInt8], isPSS: Bool) throws(CryptoError) -> [UInt8] {
        guard let context = EVP_MD_CTX_new() else { throw CryptoError("no memory") }
        defer { EVP_MD_CTX_free(context) }
        var keyContext: OpaquePointer?
        try CryptoError.check(
            EVP_DigestSignInit(context, &keyContext, Self.digest(of: kind), nil, key),
            "cannot sign")
        if isPSS { try PSS.configure(keyContext) }
        var length = 0
        try CryptoError.check(
            EVP_DigestSign(context, nil, &length, data, data.count), "cannot sign")
        var signature = [UInt8](repeating: 0, count: length)
        try CryptoError.check(
            EVP_DigestSign(context, &signature, &length, data, data.count), "cannot sign")
        signature.removeLast(signature.count - length)
        return signature
    }
}
