internal import SignalboxCrypto
package import SignalboxPluginHost
internal import Synchronization

/// Keys and certificates for plugins.
///
/// Caches parsed keys, so that a PEM file is not parsed for every signature.
package final class KeyRing: Sendable {
    private static let keysMax = 64
    private let signing = Mutex<[[UInt8]: SigningKey]>([:])
    private let verifying = Mutex<[[UInt8]: [VerifyingKey]]>([:])

    /// No key is known yet.
    package init() {}

    /// Signs with a key in the form the algorithm requires.
    package func sign(
        _ algorithm: SignAlgorithm, key: [UInt8], data: [UInt8]
    ) throws(PluginFault) -> [UInt8] {
        do {
            switch algorithm {
            case .es256: return try signer(key).signES256(data)
            case .rs256: return try signer(key).signRS256(data)
            case .ps256: return try signer(key).signPS256(data)
            case .hmacSHA256: return HMACDigest.sha256(key: key, data: data)
            case .hmacSHA1: return HMACDigest.sha1(key: key, data: data)
            case .ed25519: return try signer(key).signEd25519(data)
            }
        } catch {
            throw PluginFault(.invalid, "\(error)")
        }
    }

    /// The public half of a private key.
    package func publicKey(
        _ form: PublicKeyForm, key: [UInt8]
    ) throws(PluginFault) -> [UInt8] {
        do {
            let key = try signer(key)
            switch form {
            case .jwk: return Array(key.publicKeyJWK.utf8)
            case .pem: return try key.publicKeyPEM()
            case .raw:
                guard let raw = key.publicKeyRaw else {
                    throw PluginFault(.unsupported, "an RSA key has no raw form: use a JWK or PEM")
                }
                return raw
            }
        } catch let fault as PluginFault {
            throw fault
        } catch {
            throw PluginFault(.invalid, "\(error)")
        }
    }

    /// Verifies a signature with a public key, a certificate or a private key in PEM, a JWK or a JWK set.
    package func verify(
        _ algorithm: SignAlgorithm, key: [UInt8], data: [UInt8], signature: [UInt8]
    ) throws(PluginFault) -> Bool {
        do {
            switch algorithm {
            case .hmacSHA256, .hmacSHA1:
                return HMACDigest.isEqual(try sign(algorithm, key: key, data: data), signature)
            case .es256:
                return try verifiers(key, .p256).contains {
                    $0.verifyES256(signature, data: data)
                }
            case .rs256:
                return try verifiers(key, .rsa).contains { $0.verifyRS256(signature, data: data) }
            case .ps256:
                return try verifiers(key, .rsa).contains { $0.verifyPS256(signature, data: data) }
            case .ed25519:
                return try verifiers(key, .ed25519).contains {
                    $0.verifyEd25519(signature, data: data)
                }
            }
        } catch let fault as PluginFault {
            throw fault
        } catch {
            throw PluginFault(.invalid, "\(error)")
        }
    }

    /// The leaf certificate of a PEM or PKCS#12 file.
    package static func certificate(
        _ bytes: [UInt8], password: [UInt8]?
    ) throws(PluginFault) -> PluginCertificate {
        do {
            let found = try Certificate.read(bytes, password: password)
            return PluginCertificate(
                subject: found.subject, userID: found.userID,
                notBeforeUnixS: found.notBeforeUnixS, notAfterUnixS: found.notAfterUnixS,
                extensions: found.extensions.map { .init(oid: $0.oid, der: $0.der) })
        } catch {
            throw PluginFault(.invalid, "\(error)")
        }
    }

    /// Certificate chain and key of a PKCS#12 file (or of PEM with a password), in PEM form.
    package static func identity(
        _ bytes: [UInt8], password: [UInt8]?
    ) throws(PluginFault) -> (certificate: [UInt8], key: [UInt8]) {
        do {
            let identity = try ClientIdentity.read(bytes, password: password)
            return (identity.certificatePEM, identity.privateKeyPEM)
        } catch {
            throw PluginFault(.invalid, "\(error)")
        }
    }

    private func signer(_ pem: [UInt8]) throws -> SigningKey {
        try Self.kept(pem, in: signing) { try SigningKey(pem: $0) }
    }

    /// The keys of this kind; a document without one cannot verify.
    private func verifiers(
        _ document: [UInt8], _ kind: SigningKey.Kind
    ) throws -> [VerifyingKey] {
        let keys = try Self.kept(document, in: verifying) { document in
            guard document.first(where: { !$0.isWhitespace }) == UInt8(ascii: "{") else {
                return [try VerifyingKey(anyPEM: document)]
            }
            return try JWK.keys(document).map(\.key)
        }.filter { $0.algorithm == kind }
        guard !keys.isEmpty else { throw PluginFault(.invalid, "\(kind.words) is needed") }
        return keys
    }

    private static func kept<Key: Sendable>(
        _ pem: [UInt8], in ring: borrowing Mutex<[[UInt8]: Key]>, _ read: ([UInt8]) throws -> Key
    ) throws -> Key {
        if let key = ring.withLock({ $0[pem] }) { return key }
        let made = try read(pem)
        ring.withLock { known in
            if known.count >= keysMax { known.removeAll() }
            known[pem] = made
        }
        return made
    }
}

extension UInt8 {
    fileprivate var isWhitespace: Bool { [0x20, 0x09, 0x0A, 0x0D].contains(self) }
}

extension SigningKey.Kind {
    fileprivate var words: String {
        switch self {
        case .rsa: "an RSA key"
        case .p256: "an EC key on P-256"
        case .ed25519: "an Ed25519 key"
        }
    }
}
