internal import COpenSSL

/// ECDH on P-256.
extension SigningKey {
    /// A new key on P-256.
    public static func newP256() throws(CryptoError) -> SigningKey {
        guard let key = csbx_generate_p256() else {
            ERR_clear_error()
            throw CryptoError("cannot make an EC key")
        }
        return SigningKey(owning: key, kind: .p256)
    }

    /// The private key with this number, 32 bytes, big endian.
    public convenience init(p256Scalar scalar: [UInt8]) throws(CryptoError) {
        guard scalar.count == 32, let key = csbx_p256_private(scalar) else {
            ERR_clear_error()
            throw CryptoError("this is not a private key on P-256")
        }
        self.init(owning: key, kind: .p256)
    }

    /// The secret that this key shares with the owner of a point (`0x04`, x, y): 32 bytes.
    public func sharedSecret(with point: [UInt8]) throws(CryptoError) -> [UInt8] {
        guard kind == .p256 else { throw CryptoError("ECDH needs an EC key on P-256") }
        guard point.count == 65, point.first == 4, let peer = csbx_p256_public(point) else {
            ERR_clear_error()
            throw CryptoError("the peer's key is not an uncompressed point on P-256")
        }
        defer { EVP_PKEY_free(peer) }
        let context = withKey { EVP_PKEY_CTX_new($0, nil) }
        defer { EVP_PKEY_CTX_free(context) }
        try CryptoError.check(EVP_PKEY_derive_init(context), "cannot derive a secret")
        // It checks that the point is on the curve.
        try CryptoError.check(
            EVP_PKEY_derive_set_peer(context, peer),
            "the peer's key is not an uncompressed point on P-256")
        var out = [UInt8](repeating: 0, count: 32)
        var count = out.count
        try CryptoError.check(
            EVP_PKEY_derive(context, &out, &count), "cannot derive a secret")
        return out
    }
}
