internal import COpenSSL

/// AES-GCM with a key of 16 or 32 bytes, a nonce of 12 and a tag of 16 behind the ciphertext.
public enum AESGCM {
    /// Bytes of a tag.
    public static let tagBytes = 16

    /// Encrypts.
    public static func seal(
        _ plain: [UInt8], key: [UInt8], nonce: [UInt8], added: [UInt8]
    ) throws(CryptoError) -> [UInt8] {
        let context = try context(key, nonce, isSealing: true)
        defer { EVP_CIPHER_CTX_free(context) }
        var count: Int32 = 0
        try add(added, to: context, isSealing: true)
        var out = [UInt8](repeating: 0, count: plain.count)
        var tag = [UInt8](repeating: 0, count: tagBytes)
        try CryptoError.check(
            EVP_EncryptUpdate(context, &out, &count, plain, Int32(plain.count)), "cannot encrypt")
        var rest = [UInt8](repeating: 0, count: 16)
        try CryptoError.check(EVP_EncryptFinal_ex(context, &rest, &count), "cannot encrypt")
        try CryptoError.check(
            EVP_CIPHER_CTX_ctrl(context, EVP_CTRL_AEAD_GET_TAG, Int32(tagBytes), &tag),
            "cannot encrypt")
        return out + tag
    }

    /// Decrypts; nil if the parts do not fit each other.
    public static func open(
        _ sealed: [UInt8], key: [UInt8], nonce: [UInt8], added: [UInt8]
    ) throws(CryptoError) -> [UInt8]? {
        guard sealed.count >= tagBytes else { return nil }
        let context = try context(key, nonce, isSealing: false)
        defer {
            EVP_CIPHER_CTX_free(context)
            ERR_clear_error()
        }
        let body = Array(sealed.dropLast(tagBytes))
        var tag = Array(sealed.suffix(tagBytes))
        var count: Int32 = 0
        try add(added, to: context, isSealing: false)
        var out = [UInt8](repeating: 0, count: body.count)
        try CryptoError.check(
            EVP_DecryptUpdate(context, &out, &count, body, Int32(body.count)), "cannot decrypt")
        try CryptoError.check(
            EVP_CIPHER_CTX_ctrl(context, EVP_CTRL_AEAD_SET_TAG, Int32(tagBytes), &tag),
            "cannot decrypt")
        var rest = [UInt8](repeating: 0, count: 16)
        return EVP_DecryptFinal_ex(context, &rest, &count) == 1 ? out : nil
    }

    private static func add(
        _ bytes: [UInt8], to context: OpaquePointer, isSealing: Bool
    ) throws(CryptoError) {
        guard !bytes.isEmpty else { return }
        var count: Int32 = 0
        let status =
            isSealing
            ? EVP_EncryptUpdate(context, nil, &count, bytes, Int32(bytes.count))
            : EVP_DecryptUpdate(context, nil, &count, bytes, Int32(bytes.count))
        try CryptoError.check(status, "cannot authenticate")
    }

    private static func context(
        _ key: [UInt8], _ nonce: [UInt8], isSealing: Bool
    ) throws(CryptoError) -> OpaquePointer {
        guard nonce.count == 12 else { throw CryptoError("the nonce must have 12 bytes") }
        guard key.count == 16 || key.count == 32 else {
            throw CryptoError("the key must have 16 or 32 bytes")
        }
        guard let context = EVP_CIPHER_CTX_new() else { throw CryptoError("no memory") }
        let cipher = key.count == 16 ? EVP_aes_128_gcm() : EVP_aes_256_gcm()
        // GCM's nonces have 12 bytes unless told otherwise.
        let status =
            isSealing
            ? EVP_EncryptInit_ex(context, cipher, nil, key, nonce)
            : EVP_DecryptInit_ex(context, cipher, nil, key, nonce)
        guard status == 1 else {
            EVP_CIPHER_CTX_free(context)
            ERR_clear_error()
            throw CryptoError("this system does not offer AES-GCM")
        }
        return context
    }
}
