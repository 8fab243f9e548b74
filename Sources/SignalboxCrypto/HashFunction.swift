internal import COpenSSL

/// A digest, plain and with a key.
public enum HashFunction: UInt32, Sendable, CaseIterable {
    case sha256 = 1
    case sha384, sha512
    /// Only for peers that ask for it.
    case sha1
    /// Only for peers that ask for it.
    case md5

    private var algorithm: OpaquePointer? {
        switch self {
        case .sha256: EVP_sha256()
        case .sha384: EVP_sha384()
        case .sha512: EVP_sha512()
        case .sha1: EVP_sha1()
        case .md5: EVP_md5()
        }
    }

    /// Bytes of a digest.
    public var byteCount: Int {
        switch self {
        case .sha256: 32
        case .sha384: 48
        case .sha512: 64
        case .sha1: 20
        case .md5: 16
        }
    }

    /// The digest of some bytes. Throws where the system forbids the function (MD5 under FIPS).
    public func digest(_ data: [UInt8]) throws(CryptoError) -> [UInt8] {
        var out = [UInt8](repeating: 0, count: byteCount)
        var written: UInt32 = 0
        try CryptoError.check(
            EVP_Digest(data, data.count, &out, &written, algorithm, nil),
            "this system does not offer \(self)")
        return out
    }

    /// HMAC (RFC 2104).
    public func hmac(key: [UInt8], data: [UInt8]) throws(CryptoError) -> [UInt8] {
        var out = [UInt8](repeating: 0, count: byteCount)
        // An empty array may have no address, which OpenSSL takes to mean the previous key.
        let keyBytes = key.isEmpty ? [0] : key
        var written: UInt32 = 0
        let made = HMAC(
            algorithm, keyBytes, Int32(clamping: key.count), data, data.count, &out, &written)
        guard made != nil else {
            ERR_clear_error()
            throw CryptoError("this system does not offer HMAC with \(self)")
        }
        return out
    }

    /// HKDF (RFC 5869), extract and expand; nil if more than 255 digests are asked for.
    public func hkdf(
        key: [UInt8], salt: [UInt8], info: [UInt8], count: Int
    ) throws(CryptoError) -> [UInt8]? {
        guard (0...255 * byteCount).contains(count) else { return nil }
        // Without a salt it is zeros, as many as a digest has; HMAC pads an empty key to the same.
        let strong = try hmac(key: salt, data: key)
        var out: [UInt8] = []
        var block: [UInt8] = []
        var number: UInt8 = 0
        while out.count < count {
            number += 1
            block = try hmac(key: strong, data: block + info + [number])
            out += block
        }
        return Array(out.prefix(count))
    }
}
