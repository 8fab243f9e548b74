internal import COpenSSL

/// A certificate chain with its private key, for a client under mutual TLS.
public struct ClientIdentity: Sendable {
    /// PEM: the leaf, then the rest of the chain.
    public var certificatePEM: [UInt8]
    /// PKCS#8, without a password.
    public var privateKeyPEM: [UInt8]

    /// Reads PKCS#12, or PEM with certificates followed by the key.
    ///
    /// `password` decrypts either; nil for none. Also reads files of old tools (RC2, 3DES).
    public static func read(
        _ bytes: [UInt8], password: [UInt8]?
    ) throws(CryptoError) -> ClientIdentity {
        PEM.isPEM(bytes)
            ? try pem(bytes, password: password) : try PKCS12.open(bytes, password: password)
    }

    private static func pem(
        _ bytes: [UInt8], password: [UInt8]?
    ) throws(CryptoError) -> ClientIdentity {
        let key = try SigningKey(pem: bytes, password: password)
        var chain: [UInt8] = []
        for certificate in try PEM.certificates(bytes) {
            defer { X509_free(certificate) }
            chain += try PEM.bytes { PEM_write_bio_X509($0, certificate) }
        }
        guard !chain.isEmpty else { throw CryptoError("there is no certificate in the PEM text") }
        return ClientIdentity(certificatePEM: chain, privateKeyPEM: try key.privateKeyPEM())
    }
}

/// PKCS#12 files.
enum PKCS12 {
    /// `@unchecked Sendable`: any thread may use a library context.
    private final class Context: @unchecked Sendable {
        let pointer = csbx_legacy_context()
    }
    private static let context = Context()

    static func open(
        _ bytes: [UInt8], password: [UInt8]?
    ) throws(CryptoError) -> ClientIdentity {
        var key: OpaquePointer?
        var leaf: OpaquePointer?
        var others: OpaquePointer?
        let opener = password.map { $0.map { CChar(bitPattern: $0) } + [0] }
        let length = Int32(clamping: bytes.count)
        let result =
            if let opener {
                csbx_open_p12(context.pointer, bytes, length, opener, &key, &leaf, &others)
            } else {
                csbx_open_p12(context.pointer, bytes, length, nil, &key, &leaf, &others)
            }
        defer {
            EVP_PKEY_free(key)
            X509_free(leaf)
            csbx_chain_free(others)
        }
        switch result {
        case 0: break
        case 1: throw CryptoError("this is neither PEM nor PKCS#12")
        case 2:
            throw CryptoError(
                password == nil
                    ? "the PKCS#12 file needs a password" : "the password does not open it")
        default: throw CryptoError("the PKCS#12 file holds no certificate with its private key")
        }
        guard let key, let leaf else {
            throw CryptoError("the PKCS#12 file holds no certificate with its private key")
        }
        var chain = try PEM.bytes { PEM_write_bio_X509($0, leaf) }
        for index in 0..<csbx_chain_count(others) {
            guard let one = csbx_chain_at(others, index) else { continue }
            chain += try PEM.bytes { PEM_write_bio_X509($0, one) }
        }
        return ClientIdentity(
            certificatePEM: chain,
            privateKeyPEM: try PEM.bytes {
                PEM_write_bio_PKCS8PrivateKey($0, key, nil, nil, 0, nil, nil)
            })
    }

    /// Makes a file; `isLegacy` uses the ciphers of old tools.
    static func make(
        certificatePEM: [UInt8], key: SigningKey, password: String?, isLegacy: Bool
    ) throws(CryptoError) -> [UInt8] {
        let leaf = try PEM.certificates(certificatePEM)
        defer { for one in leaf { X509_free(one) } }
        guard let first = leaf.first else { throw CryptoError("there is no certificate") }
        return try PEM.bytes { bio in
            key.withKey { key in
                if let password {
                    csbx_make_p12(context.pointer, key, first, password, isLegacy ? 1 : 0, bio)
                } else {
                    csbx_make_p12(context.pointer, key, first, nil, isLegacy ? 1 : 0, bio)
                }
            }
        }
    }
}
