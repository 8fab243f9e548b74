internal import COpenSSL

/// A public key: EC P-256, Ed25519, or RSA of at least 2048 bits.
///
/// `@unchecked Sendable`: as for `SigningKey`.
public final class VerifyingKey: @unchecked Sendable {
    private let key: OpaquePointer
    private let kind: SigningKey.Kind

    /// Reads a PEM public key (`BEGIN PUBLIC KEY`).
    public convenience init(pem: [UInt8]) throws(CryptoError) {
        guard let key = Self.publicKey(pem) else {
            throw CryptoError("this is not a public key in PEM form")
        }
        try self.init(owning: key)
    }

    /// Reads a public key from PEM text.
    ///
    /// The text holds a public key, certificates of which the first counts, or a private
    /// key without a password.
    public convenience init(anyPEM pem: [UInt8]) throws(CryptoError) {
        guard let key = Self.publicKey(pem) ?? Self.certified(pem) ?? SigningKey.read(pem) else {
            throw CryptoError(
                "this is neither a public key nor a certificate nor a private key in PEM form (or it "
                    + "needs a password)")
        }
        try self.init(owning: key)
    }

    private static func publicKey(_ pem: [UInt8]) -> OpaquePointer? {
        defer { ERR_clear_error() }
        return reading(pem) { PEM_read_bio_PUBKEY($0, nil, nil, nil) }
    }

    private static func certified(_ pem: [UInt8]) -> OpaquePointer? {
        defer { ERR_clear_error() }
        guard let certificate = reading(pem, { PEM_read_bio_X509($0, nil, nil, nil) }) else {
            return nil
        }
        defer { X509_free(certificate) }
        return X509_get_pubkey(certificate)
    }

    private init(owning key: OpaquePointer) throws(CryptoError) {
        do {
            kind = try SigningKey.kind(of: key)
            self.key = key
        } catch {
            EVP_PKEY_free(key)
            throw error
        }
    }

    /// An RSA key of a JWK, big endian; at least 2048 bits.
    public init(rsaModulus n: [UInt8], exponent e: [UInt8]) throws(CryptoError) {
        guard n.drop(while: { $0 == 0 }).count >= 256, n.count <= 2_048, (1...8).contains(e.count),
            let key = csbx_rsa_public(n, Int32(n.count), e, Int32(e.count))
        else { throw CryptoError("this is not an RSA key of at least 2048 bits") }
        self.key = key
        kind = .rsa
    }

    /// An EC key of a JWK, on P-256.
    public init(p256X x: [UInt8], y: [UInt8]) throws(CryptoError) {
        guard x.count == 32, y.count == 32, let key = csbx_p256_public([4] + x + y) else {
            throw CryptoError("this is not a point on P-256")
        }
        self.key = key
        kind = .p256
    }

    /// An Ed25519 key of a JWK.
    public init(ed25519 x: [UInt8]) throws(CryptoError) {
        guard x.count == 32,
            let key = EVP_PKEY_new_raw_public_key(EVP_PKEY_ED25519, nil, x, x.count)
        else {
            ERR_clear_error()
            throw CryptoError("this is not an Ed25519 key")
        }
        self.key = key
        kind = .ed25519
    }

    /// The kind of key.
    public var algorithm: SigningKey.Kind { kind }

    deinit { EVP_PKEY_free(key) }

    /// Whether a raw r‖s signature is valid.
    public func verifyES256(_ signature: [UInt8], data: [UInt8]) -> Bool {
        guard kind == .p256, let der = EllipticSignature.der(fromRaw: signature) else {
            return false
        }
        return verify(der, data: data, isPSS: false)
    }

    /// Whether a PKCS#1 v1.5 signature is valid.
    public func verifyRS256(_ signature: [UInt8], data: [UInt8]) -> Bool {
        kind == .rsa && verify(signature, data: data, isPSS: false)
    }

    /// Whether a PSS signature with a salt of 32 bytes is valid.
    public func verifyPS256(_ signature: [UInt8], data: [UInt8]) -> Bool {
        kind == .rsa && verify(signature, data: data, isPSS: true)
    }

    /// Whether an Ed25519 signature is valid.
    public func verifyEd25519(_ signature: [UInt8], data: [UInt8]) -> Bool {
        kind == .ed25519 && verify(signature, data: data, isPSS: false)
    }

    private func verify(_ signature: [UInt8], data: [UInt8], isPSS: Bool) -> Bool {
        guard let context = EVP_MD_CTX_new() else { return false }
        defer {
            EVP_MD_CTX_free(context)
            ERR_clear_error()
        }
        var keyContext: OpaquePointer?
        let begun = EVP_DigestVerifyInit(
            context, &keyContext, SigningKey.digest(of: kind), nil, key)
        guard begun == 1 else { return false }
        if isPSS, (try? PSS.configure(keyContext)) == nil { return false }
        return EVP_DigestVerify(context, signature, signature.count, data, data.count) == 1
    }
}

enum PSS {
    static func configure(_ context: OpaquePointer?) throws(CryptoError) {
        try CryptoError.check(
            EVP_PKEY_CTX_set_rsa_padding(context, RSA_PKCS1_PSS_PADDING), "cannot use PSS")
        try CryptoError.check(EVP_PKEY_CTX_set_rsa_pss_saltlen(context, 32), "cannot use PSS")
    }
}

enum PEM {
    /// The bytes that `write` puts into a memory BIO.
    static func bytes(_ write: (OpaquePointer) -> Int32) throws(CryptoError) -> [UInt8] {
        guard let bio = BIO_new(BIO_s_mem()) else { throw CryptoError("no memory") }
        defer { BIO_free(bio) }
        try CryptoError.check(write(bio), "cannot write PEM")
        var start: UnsafeMutablePointer<CChar>?
        let length = csbx_bio_bytes(bio, &start)
        return Array(
            UnsafeRawBufferPointer(start: UnsafeRawPointer(start), count: max(0, length)))
    }
}

/// Converts ECDSA signatures: OpenSSL uses DER, JOSE uses raw r‖s.
enum EllipticSignature {
    static func raw(fromDER der: [UInt8]) throws(CryptoError) -> [UInt8] {
        let parsed = der.withUnsafeBufferPointer { buffer in
            var start = buffer.baseAddress
            return d2i_ECDSA_SIG(nil, &start, buffer.count)
        }
        guard let parsed else { throw CryptoError("cannot sign") }
        defer { ECDSA_SIG_free(parsed) }
        var out = [UInt8](repeating: 0, count: 64)
        out.withUnsafeMutableBufferPointer { buffer in
            _ = BN_bn2binpad(ECDSA_SIG_get0_r(parsed), buffer.baseAddress, 32)
            _ = BN_bn2binpad(ECDSA_SIG_get0_s(parsed), buffer.baseAddress.map { $0 + 32 }, 32)
        }
        return out
    }

    static func der(fromRaw raw: [UInt8]) -> [UInt8]? {
        guard raw.count == 64, let made = ECDSA_SIG_new() else { return nil }
        defer { ECDSA_SIG_free(made) }
        let r = BN_bin2bn(Array(raw[..<32]), 32, nil)
        let s = BN_bin2bn(Array(raw[32...]), 32, nil)
        // On success the signature owns both numbers.
        guard ECDSA_SIG_set0(made, r, s) == 1 else { return nil }
        var bytes: UnsafeMutablePointer<UInt8>?
        let length = i2d_ECDSA_SIG(made, &bytes)
        defer { CRYPTO_free(bytes, #file, #line) }
        guard length > 0 else { return nil }
        return Array(UnsafeBufferPointer(start: bytes, count: Int(length)))
    }
}
