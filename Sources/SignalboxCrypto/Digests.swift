internal import COpenSSL

/// Keyed digests.
public enum HMACDigest {
    /// HMAC-SHA-256: 32 bytes.
    public static func sha256(key: [UInt8], data: [UInt8]) -> [UInt8] {
        digest(EVP_sha256(), key: key, data: data, length: 32)
    }

    /// HMAC-SHA-1: 20 bytes; only for sources that require it.
    public static func sha1(key: [UInt8], data: [UInt8]) -> [UInt8] {
        digest(EVP_sha1(), key: key, data: data, length: 20)
    }

    /// Constant-time comparison: the time depends only on the lengths.
    public static func isEqual(_ a: [UInt8], _ b: [UInt8]) -> Bool {
        guard a.count == b.count else { return false }
        var difference: UInt8 = 0
        for index in a.indices { difference |= a[index] ^ b[index] }
        return difference == 0
    }

    private static func digest(
        _ algorithm: OpaquePointer?, key: [UInt8], data: [UInt8], length: Int
    ) -> [UInt8] {
        var out = [UInt8](repeating: 0, count: length)
        // An empty array may have no address, which OpenSSL takes to mean the previous key.
        let keyBytes = key.isEmpty ? [0] : key
        var written: UInt32 = 0
        _ = HMAC(algorithm, keyBytes, Int32(key.count), data, data.count, &out, &written)
        return out
    }
}

/// Plain digests and random bytes.
public enum Digest {
    /// SHA-256: 32 bytes.
    public static func sha256(_ data: [UInt8]) -> [UInt8] {
        var out = [UInt8](repeating: 0, count: 32)
        var written: UInt32 = 0
        EVP_Digest(data, data.count, &out, &written, EVP_sha256(), nil)
        return out
    }

    /// Cryptographically secure random bytes.
    public static func random(_ count: Int) throws(CryptoError) -> [UInt8] {
        var out = [UInt8](repeating: 0, count: count)
        try CryptoError.check(RAND_bytes(&out, Int32(count)), "the system gave no random bytes")
        return out
    }
}
