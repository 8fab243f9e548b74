internal import COpenSSL

/// Settings shared by the sessions of one endpoint or listener: identity, trusted roots, protocol.
///
/// `@unchecked Sendable`: immutable after `init`, and OpenSSL allows several threads to make sessions
/// from one context.
final class TLSContext: @unchecked Sendable {
    /// Trusted roots: a peer's certificate must chain to one of them.
    enum Roots {
        case system
        case file(String)
        case pem([UInt8])
    }

    /// The part of a context that failed.
    enum Part: Error { case chain, key, pair, roots, memory }

    /// ALPN protocol names, each preceded by its length.
    enum ALPN {
        static let http2: StaticString = "\u{2}h2"
        static let http1: StaticString = "\u{8}http/1.1"
    }

    let isServer: Bool
    /// An `SSL_CTX`; freed with this object and the last session.
    let pointer: OpaquePointer

    /// A context for outgoing connections. The peer's certificate must match its host.
    static func client(
        alpn: StaticString, roots: Roots, identity: TLSIdentity?
    ) throws(Part) -> TLSContext {
        let context = try TLSContext(isServer: false, alpn: alpn, identity: identity)
        try context.trust(roots)
        SSL_CTX_set_verify(context.pointer, SSL_VERIFY_PEER, nil)
        csbx_tls_session_cache(context.pointer, SSL_SESS_CACHE_CLIENT)
        SSL_CTX_sess_set_new_cb(context.pointer, TLSResumption.callback)
        return context
    }

    /// A context for incoming connections. With `clientRoots` a client may send a certificate, which must
    /// chain to one of them.
    static func server(
        alpn: StaticString?, identity: TLSIdentity, clientRoots: [UInt8]?
    ) throws(Part) -> TLSContext {
        let context = try TLSContext(isServer: true, alpn: alpn, identity: identity)
        csbx_tls_session_cache(context.pointer, SSL_SESS_CACHE_SERVER)
        // A session is resumed only under the same id. OpenSSL requires an id once clients send certificates.
        let place: [UInt8] = Array("signalbox".utf8)
        SSL_CTX_set_session_id_context(context.pointer, place, UInt32(place.count))
        if let clientRoots {
            try context.trust(.pem(clientRoots))
            SSL_CTX_set_verify(context.pointer, SSL_VERIFY_PEER, nil)
        }
        return context
    }

    private init(isServer: Bool, alpn: StaticString?, identity: TLSIdentity?) throws(Part) {
        self.isServer = isServer
        ERR_clear_error()
        let method = isServer ? TLS_server_method() : TLS_client_method()
        guard let pointer = SSL_CTX_new(method) else { throw .memory }
        self.pointer = pointer
        guard csbx_tls_settle(pointer) == 1 else { throw .memory }
        // The bytes of a `StaticString` stay valid until the program ends.
        if let alpn, csbx_tls_offer(pointer, alpn.utf8Start, isServer ? 1 : 0) != 1 {
            throw .memory
        }
        try identity?.use(in: pointer)
    }

    deinit { SSL_CTX_free(pointer) }

    private func trust(_ roots: Roots) throws(Part) {
        defer { ERR_clear_error() }
        switch roots {
        case .system:
            guard SSL_CTX_set_default_verify_paths(pointer) == 1 else { throw .roots }
        case .file(let path):
            guard SSL_CTX_load_verify_file(pointer, path) == 1 else { throw .roots }
        case .pem(let text):
            let certificates = TLSIdentity.certificates(text)
            defer { for one in certificates { X509_free(one) } }
            guard !certificates.isEmpty else { throw .roots }
            let store = SSL_CTX_get_cert_store(pointer)
            for one in certificates {
                // The names tell a client which of its certificates are accepted.
                guard X509_STORE_add_cert(store, one) == 1,
                    SSL_CTX_add_client_CA(pointer, one) == 1
                else { throw .roots }
            }
        }
    }
}

/// A certificate chain with its private key, both PEM.
struct TLSIdentity {
    /// The leaf first.
    var chainPEM: [UInt8]
    /// Without a password.
    var keyPEM: [UInt8]

    func use(in context: OpaquePointer) throws(TLSContext.Part) {
        defer { ERR_clear_error() }
        let chain = Self.certificates(chainPEM)
        defer { for one in chain { X509_free(one) } }
        guard let leaf = chain.first else { throw .chain }
        // The callback refuses a password instead of asking for one on the terminal.
        let read = Self.reading(keyPEM) {
            PEM_read_bio_PrivateKey($0, nil, { _, _, _, _ in -1 }, nil)
        }
        guard let key = read else { throw .key }
        defer { EVP_PKEY_free(key) }
        // Each call takes its own reference.
        guard SSL_CTX_use_certificate(context, leaf) == 1 else { throw .chain }
        guard SSL_CTX_use_PrivateKey(context, key) == 1 else { throw .pair }
        for issuer in chain.dropFirst() where csbx_tls_add_chain(context, issuer) != 1 {
            throw .chain
        }
    }

    /// All certificates of a PEM text; the caller frees them.
    static func certificates(_ pem: [UInt8]) -> [OpaquePointer] {
        defer { ERR_clear_error() }
        return reading(pem) { bio in
            var found: [OpaquePointer] = []
            while let one = PEM_read_bio_X509(bio, nil, nil, nil) { found.append(one) }
            return found
        }
    }

    /// OpenSSL keeps the address and copies nothing, so the bytes stay valid until `body` returns.
    private static func reading<Result>(
        _ bytes: [UInt8], _ body: (OpaquePointer?) -> Result
    ) -> Result {
        bytes.withUnsafeBytes { bytes in
            let start = bytes.baseAddress ?? UnsafeRawPointer(bitPattern: 1)
            let bio = BIO_new_mem_buf(start, Int32(clamping: bytes.count))
            defer { BIO_free(bio) }
            return body(bio)
        }
    }
}
