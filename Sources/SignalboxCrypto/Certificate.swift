internal import COpenSSL
internal import Glibc

/// The fields of an X.509 certificate.
public struct Certificate: Sendable {
    /// An extension, undecoded.
    public struct Extension: Sendable, Hashable {
        /// `1.2.840.113635.100.6.3.6`.
        public var oid: String
        /// DER of its value.
        public var der: [UInt8]
    }

    /// `CN=...,O=...`.
    public var subject: String
    /// The subject's UID; empty for none.
    public var userID: String
    /// Start of validity, in Unix seconds.
    public var notBeforeUnixS: Int64
    /// End of validity, in Unix seconds.
    public var notAfterUnixS: Int64
    /// Extensions in the certificate's order.
    public var extensions: [Extension]

    /// Reads the leaf certificate of PEM or PKCS#12 data.
    public static func read(
        _ bytes: [UInt8], password: [UInt8]?
    ) throws(CryptoError) -> Certificate {
        let pem =
            PEM.isPEM(bytes) ? bytes : try PKCS12.open(bytes, password: password).certificatePEM
        let chain = try PEM.certificates(pem)
        defer { for one in chain { X509_free(one) } }
        guard let leaf = chain.first else {
            throw CryptoError("there is no certificate in the PEM text")
        }
        return Certificate(leaf)
    }

    /// Reads all certificates of a PEM text, in their order.
    public static func all(pem: [UInt8]) -> [Certificate] {
        let chain = (try? PEM.certificates(pem)) ?? []
        defer { for one in chain { X509_free(one) } }
        return chain.map { Certificate($0) }
    }

    /// Reads one certificate in DER form.
    public static func read(der: [UInt8]) throws(CryptoError) -> Certificate {
        let read = der.withUnsafeBufferPointer { buffer -> OpaquePointer? in
            var start = buffer.baseAddress
            return start == nil ? nil : d2i_X509(nil, &start, buffer.count)
        }
        guard let leaf = read else {
            ERR_clear_error()
            throw CryptoError("this is not a certificate in DER form")
        }
        defer { X509_free(leaf) }
        return Certificate(leaf)
    }

    private init(_ leaf: OpaquePointer) {
        let name = X509_get_subject_name(leaf)
        let text = try? PEM.bytes { bio in
            csbx_print_name(bio, name) >= 0 ? 1 : 0
        }
        subject = String(decoding: text ?? [], as: UTF8.self)
        userID = Self.entry(name, NID_userId)
        notBeforeUnixS = Self.seconds(X509_get0_notBefore(leaf))
        notAfterUnixS = Self.seconds(X509_get0_notAfter(leaf))
        extensions = (0..<X509_get_ext_count(leaf)).compactMap { index in
            guard let one = X509_get_ext(leaf, index) else { return nil }
            var room = [CChar](repeating: 0, count: 128)
            OBJ_obj2txt(&room, 128, X509_EXTENSION_get_object(one), 1)
            let oid = String(
                decoding: room.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }, as: UTF8.self)
            let value = X509_EXTENSION_get_data(one)
            let der = UnsafeBufferPointer(
                start: ASN1_STRING_get0_data(value), count: Int(ASN1_STRING_length(value)))
            return Extension(oid: oid, der: Array(der))
        }
    }

    private static func entry(_ name: OpaquePointer?, _ nid: Int32) -> String {
        let index = X509_NAME_get_index_by_NID(name, nid, -1)
        guard index >= 0 else { return "" }
        let value = X509_NAME_ENTRY_get_data(X509_NAME_get_entry(name, index))
        let bytes = UnsafeBufferPointer(
            start: ASN1_STRING_get0_data(value), count: Int(ASN1_STRING_length(value)))
        return String(decoding: bytes, as: UTF8.self)
    }

    private static func seconds(_ time: UnsafePointer<ASN1_TIME>?) -> Int64 {
        var parts = tm()
        guard ASN1_TIME_to_tm(time, &parts) == 1 else { return 0 }
        return Int64(timegm(&parts))
    }
}

extension PEM {
    static func isPEM(_ bytes: [UInt8]) -> Bool {
        // Text may precede the first BEGIN line, as `openssl pkcs12` writes it.
        String(decoding: bytes.prefix(64 * 1024), as: UTF8.self).contains("-----BEGIN ")
    }

    /// All certificates in a PEM text; the caller frees them.
    static func certificates(_ pem: [UInt8]) throws(CryptoError) -> [OpaquePointer] {
        defer { ERR_clear_error() }
        return reading(pem) { bio in
            var out: [OpaquePointer] = []
            while let one = PEM_read_bio_X509(bio, nil, nil, nil) { out.append(one) }
            return out
        }
    }
}
