internal import SignalboxCrypto
package import SignalboxPluginHost
internal import Synchronization

/// Works with keys and certificates for plugins.
///
/// Parsed keys are kept, so that a PEM file is parsed once and not per signature.
package final class KeyRing: Sendable {
    private static let keysMax = 64
    private let signing = Mutex<[[UInt8]: SigningKey]>([:])
    private let verifying = Mutex<[[UInt8]: VerifyingKey]>([:])

    /// No key is known yet.
    package init() {}

    /// Signs with a key in the form that the algorithm asks for.
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
            }
        } catch {
            throw PluginFault(.invalid, "\(error)")
        }
    }

    /// Verifies a signature with a public key, a certificate or a private key.
    package func verify(
        _ algorithm: SignAlgorithm, key: [UInt8], data: [UInt8], signature: [UInt8]
    ) throws(PluginFault) -> Bool {
        do {
            switch algorithm {
            case .hmacSHA256, .hmacSHA1:
                return HMACDigest.isEqual(try sign(algorithm, key: key, data: data), signature)
            case .es256:
                return try verifier(key, .p256).verifyES256(signature, data: data)
            case .rs256:
                return try verifier(key, .rsa).verifyRS256(signature, data: data)
            case .ps256:
                return try verifier(key, .rsa).verifyPS256(signature, data: data)
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
                extensions: found.extensions.map { ($0.oid, $0.der) })
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

    private func verifier(_ pem: [UInt8], _ kind: SigningKey.Kind) throws -> VerifyingKey {
        let key = try Self.kept(pem, in: verifying) { try VerifyingKey(anyPEM: $0) }
        guard key.algorithm == kind else {
            throw PluginFault(
                .invalid, kind == .rsa ? "an RSA key is needed" : "an EC key on P-256 is needed")
        }
        return key
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
