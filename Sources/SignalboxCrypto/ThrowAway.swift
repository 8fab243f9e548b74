internal import COpenSSL

/// Keys and certificates for tests and simulators: new each time, and valid for 30 days.
public enum ThrowAway {
    /// A certificate with its private key, both PEM.
    public struct Identity: Sendable {
        /// The certificate, followed by its issuer's if it is not self-signed.
        public var certificatePEM: [UInt8]
        /// The private key, PKCS#8.
        public var privateKeyPEM: [UInt8]
    }

    /// A new EC P-256 key.
    public static func p256Key() throws(CryptoError) -> SigningKey {
        guard let key = csbx_generate_p256() else { throw CryptoError("cannot make an EC key") }
        return SigningKey(owning: key, kind: .p256)
    }

    /// A new Ed25519 key.
    public static func ed25519Key() throws(CryptoError) -> SigningKey {
        guard let key = csbx_generate_ed25519() else {
            throw CryptoError("cannot make an Ed25519 key")
        }
        return SigningKey(owning: key, kind: .ed25519)
    }

    /// A new RSA key of 2048 bits.
    public static func rsaKey() throws(CryptoError) -> SigningKey {
        guard let key = csbx_generate_rsa(2048) else { throw CryptoError("cannot make an RSA key") }
        return SigningKey(owning: key, kind: .rsa)
    }

    /// A self-signed certificate authority.
    public static func certificateAuthority(name: String) throws(CryptoError) -> Identity {
        let key = try p256Key()
        let pem = try certificate(
            name: name, key: key, issuer: nil,
            extensions: [
                (NID_basic_constraints, "critical,CA:TRUE"),
                (NID_key_usage, "critical,keyCertSign,cRLSign"),
                (NID_subject_key_identifier, "hash"),
            ])
        return Identity(certificatePEM: pem, privateKeyPEM: try key.privateKeyPEM())
    }

    /// A server's certificate for these names and addresses.
    public static func serverIdentity(
        names: [String] = ["localhost"], addresses: [String] = ["127.0.0.1", "::1"],
        days: Int = 30, authority: Identity
    ) throws(CryptoError) -> Identity {
        let key = try p256Key()
        let alternatives = names.map { "DNS:\($0)" } + addresses.map { "IP:\($0)" }
        let pem = try certificate(
            name: names.first ?? "server", days: days, key: key, issuer: authority,
            extensions: [
                (NID_basic_constraints, "critical,CA:FALSE"),
                (NID_key_usage, "critical,digitalSignature"),
                (NID_ext_key_usage, "serverAuth"),
                (NID_subject_alt_name, alternatives.joined(separator: ",")),
            ])
        return Identity(
            certificatePEM: pem + authority.certificatePEM,
            privateKeyPEM: try key.privateKeyPEM())
    }

    /// A client's certificate.
    ///
    /// `userID` becomes the subject's UID; `extensions` are OIDs with DER in hexadecimal.
    public static func clientIdentity(
        name: String, userID: String = "", days: Int = 30,
        extensions: [(oid: String, hex: String)] = [], authority: Identity
    ) throws(CryptoError) -> Identity {
        let key = try p256Key()
        let pem = try certificate(
            name: name, userID: userID, days: days, key: key, issuer: authority,
            extensions: [
                (NID_basic_constraints, "critical,CA:FALSE"), (NID_ext_key_usage, "clientAuth"),
            ], own: extensions)
        return Identity(
            certificatePEM: pem + authority.certificatePEM,
            privateKeyPEM: try key.privateKeyPEM())
    }

    /// A PKCS#12 file of an identity; `isLegacy` uses the ciphers of old tools.
    public static func pkcs12(
        _ identity: Identity, password: String?, isLegacy: Bool
    ) throws(CryptoError) -> [UInt8] {
        try PKCS12.make(
            certificatePEM: identity.certificatePEM,
            key: try SigningKey(pem: identity.privateKeyPEM), password: password,
            isLegacy: isLegacy)
    }

    private static func certificate(
        name: String, userID: String = "", days: Int = 30, key: SigningKey, issuer: Identity?,
        extensions: [(Int32, String)],
        own: [(oid: String, hex: String)] = []
    ) throws(CryptoError) -> [UInt8] {
        guard let made = X509_new() else { throw CryptoError("no memory") }
        defer { X509_free(made) }
        X509_set_version(made, 2)
        let serial = try Digest.random(8).reduce(0) { ($0 << 7) ^ UInt64($1) } >> 1
        ASN1_INTEGER_set_uint64(X509_get_serialNumber(made), max(1, serial))
        X509_gmtime_adj(X509_getm_notBefore(made), -3600)
        X509_gmtime_adj(X509_getm_notAfter(made), days * 24 * 3600)
        X509_NAME_add_entry_by_txt(
            X509_get_subject_name(made), "CN", MBSTRING_UTF8, Array(name.utf8),
            Int32(clamping: name.utf8.count), -1, 0)
        if !userID.isEmpty {
            X509_NAME_add_entry_by_NID(
                X509_get_subject_name(made), NID_userId, MBSTRING_UTF8, Array(userID.utf8),
                Int32(clamping: userID.utf8.count), -1, 0)
        }
        _ = key.withKey { X509_set_pubkey(made, $0) }
        var issuerCertificate: OpaquePointer?
        var signer = key
        if let issuer {
            issuerCertificate = try read(issuer.certificatePEM)
            signer = try SigningKey(pem: issuer.privateKeyPEM)
        }
        defer { X509_free(issuerCertificate) }
        X509_set_issuer_name(made, X509_get_subject_name(issuerCertificate ?? made))
        var context = X509V3_CTX()
        csbx_set_issuer(&context, issuerCertificate ?? made, made)
        for (nid, value) in extensions {
            guard let part = X509V3_EXT_conf_nid(nil, &context, nid, value) else {
                ERR_clear_error()
                throw CryptoError("cannot make a certificate extension")
            }
            X509_add_ext(made, part, -1)
            X509_EXTENSION_free(part)
        }
        for one in own { try add(one.oid, one.hex, to: made) }
        guard signer.withKey({ X509_sign(made, $0, EVP_sha256()) }) > 0 else {
            throw CryptoError("cannot sign a certificate")
        }
        return try PEM.bytes { PEM_write_bio_X509($0, made) }
    }

    /// An extension, identified by its OID: adding names to OpenSSL's table is not thread-safe.
    private static func add(
        _ oid: String, _ hex: String, to certificate: OpaquePointer
    ) throws(CryptoError) {
        let object = OBJ_txt2obj(oid, 1)
        let value = ASN1_OCTET_STRING_new()
        defer {
            ASN1_OBJECT_free(object)
            ASN1_OCTET_STRING_free(value)
        }
        let der = Hex.decode(hex) ?? []
        ASN1_OCTET_STRING_set(value, der, Int32(clamping: der.count))
        guard let part = X509_EXTENSION_create_by_OBJ(nil, object, 0, value) else {
            ERR_clear_error()
            throw CryptoError("cannot make a certificate extension")
        }
        X509_add_ext(certificate, part, -1)
        X509_EXTENSION_free(part)
    }

    private static func read(_ pem: [UInt8]) throws(CryptoError) -> OpaquePointer {
        guard let certificate = reading(pem, { PEM_read_bio_X509($0, nil, nil, nil) }) else {
            ERR_clear_error()
            throw CryptoError("this is not a certificate in PEM form")
        }
        return certificate
    }
}
