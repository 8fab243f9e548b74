internal import CSignalbox

/// A key for the functions of `sbx.crypto/1`.
public struct CryptoKey: Sendable {
    /// How a secret is written as text.
    public enum Text: UInt32, Sendable {
        case hex = 1
        case base64, base64url
    }

    var secret = ""
    var pointer = ""
    var prefix: [UInt8] = []
    var text: Text?
    var bytes: [UInt8] = []

    /// A key that the plugin has: one that it derived.
    public init(bytes: [UInt8]) { self.bytes = bytes }

    /// A secret, which stays in the host. It is decoded if it is `text`, and `prefix` is put before it (`AWS4`).
    public init(secret: String, pointer: String = "", prefix: String = "", text: Text? = nil) {
        self.secret = secret
        self.pointer = pointer
        self.prefix = Array(prefix.utf8)
        self.text = text
    }

    func raw(_ arena: borrowing Arena) -> sbx_crypto_key {
        var key = sbx_crypto_key()
        key.struct_size = UInt32(MemoryLayout<sbx_crypto_key>.size)
        key.text = text?.rawValue ?? 0
        key.secret = arena.text(secret)
        key.pointer = arena.text(pointer)
        key.prefix = arena.bytes(prefix)
        key.bytes = arena.bytes(bytes)
        return key
    }
}

extension Host {
    /// Digests of `digest`, `hmac` and `hkdf`.
    public enum Hash: UInt32, Sendable {
        case sha256 = 1
        case sha384, sha512
        /// Only for peers that require it.
        case sha1
        /// Only for peers that require it.
        case md5
    }

    /// The digest of some bytes.
    public func digest(_ hash: Hash, _ data: [UInt8]) throws(PluginError) -> [UInt8] {
        let arena = Arena()
        return try filled(capacity: 64) { buffer, length, _ in
            services.crypto.digest?(raw, hash.rawValue, arena.bytes(data), buffer, length)
        }
    }

    /// HMAC (RFC 2104).
    public func hmac(
        _ hash: Hash = .sha256, key: CryptoKey, data: [UInt8]
    ) throws(PluginError) -> [UInt8] {
        let arena = Arena()
        var key = key.raw(arena)
        return try filled(capacity: 64) { buffer, length, error in
            services.crypto.hmac?(
                raw, hash.rawValue, &key, arena.bytes(data), buffer, length, error)
        }
    }

    /// HKDF (RFC 5869), extract and expand.
    public func hkdf(
        _ hash: Hash = .sha256, key: CryptoKey, salt: [UInt8], info: [UInt8], count: Int
    ) throws(PluginError) -> [UInt8] {
        let arena = Arena()
        var key = key.raw(arena)
        return try filled(capacity: count) { buffer, _, error in
            services.crypto.hkdf?(
                raw, hash.rawValue, &key, arena.bytes(salt), arena.bytes(info), buffer, count,
                error)
        }
    }

    /// ECDH on P-256 with a peer's uncompressed point; without a key of its own, with a new one for this call.
    ///
    /// Derive keys from the shared secret; never use it as one.
    public func agree(
        with peer: [UInt8], own: CryptoKey? = nil
    ) throws(PluginError) -> (point: [UInt8], shared: [UInt8]) {
        let arena = Arena()
        var key = (own ?? CryptoKey(bytes: [])).raw(arena)
        let made = try filled(capacity: 97) { buffer, _, error in
            withUnsafePointer(to: &key) { key in
                services.crypto.agree?(
                    raw, own == nil ? nil : key, arena.bytes(peer), buffer, buffer.map { $0 + 65 },
                    error)
            }
        }
        return (Array(made.prefix(65)), Array(made.dropFirst(65)))
    }

    /// AES-GCM: the ciphertext and its tag. The nonce of 12 bytes must never come again with this key.
    public func seal(
        _ plain: [UInt8], key: CryptoKey, nonce: [UInt8], added: [UInt8] = []
    ) throws(PluginError) -> [UInt8] {
        let arena = Arena()
        var key = key.raw(arena)
        return try filled(capacity: plain.count + 16) { buffer, length, error in
            services.crypto.seal?(
                raw, &key, arena.bytes(nonce), arena.bytes(added), arena.bytes(plain), buffer,
                length, error)
        }
    }

    /// The reverse of `seal`; throws `auth` if the parts do not fit each other.
    public func open(
        _ sealed: [UInt8], key: CryptoKey, nonce: [UInt8], added: [UInt8] = []
    ) throws(PluginError) -> [UInt8] {
        let arena = Arena()
        var key = key.raw(arena)
        return try filled(capacity: sealed.count) { buffer, length, error in
            services.crypto.open?(
                raw, &key, arena.bytes(nonce), arena.bytes(added), arena.bytes(sealed), buffer,
                length, error)
        }
    }

    /// Bytes that nobody can guess, at most 64 KiB.
    public func random(_ count: Int) throws(PluginError) -> [UInt8] {
        try filled(capacity: count) { buffer, _, _ in
            services.crypto.random?(raw, buffer, count)
        }
    }
}
