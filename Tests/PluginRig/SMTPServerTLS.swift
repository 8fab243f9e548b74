import COpenSSL
import SignalboxCrypto

/// The TLS side of an `SMTPServer`.
///
/// `@unchecked Sendable`: OpenSSL counts and locks contexts itself, and nothing
/// is set after `init`.
final class SMTPServerTLS: @unchecked Sendable {
    private let context: OpaquePointer

    init(_ identity: ThrowAway.Identity) throws {
        let certificate = Self.read(identity.certificatePEM) {
            PEM_read_bio_X509($0, nil, nil, nil)
        }
        let key = Self.read(identity.privateKeyPEM) { PEM_read_bio_PrivateKey($0, nil, nil, nil) }
        defer {
            X509_free(certificate)
            EVP_PKEY_free(key)
        }
        guard let context = SSL_CTX_new(TLS_server_method()),
            SSL_CTX_use_certificate(context, certificate) == 1,
            SSL_CTX_use_PrivateKey(context, key) == 1
        else { throw PluginRig.Failure(description: "the server has no certificate") }
        self.context = context
    }

    deinit { SSL_CTX_free(context) }

    private static func read(
        _ pem: [UInt8], _ body: (OpaquePointer?) -> OpaquePointer?
    ) -> OpaquePointer? {
        let bio = BIO_new_mem_buf(pem, Int32(pem.count))
        defer { BIO_free(bio) }
        return body(bio)
    }

    /// Does the handshake; nil if the client did not.
    func accept(_ fd: Int32) -> Stream? {
        guard let ssl = SSL_new(context) else { return nil }
        let stream = Stream(ssl)
        return SSL_set_fd(ssl, fd) == 1 && SSL_accept(ssl) == 1 ? stream : nil
    }

    /// One connection. Its thread has all signals blocked, so a client that is gone does no harm.
    final class Stream {
        private let ssl: OpaquePointer

        init(_ ssl: OpaquePointer) { self.ssl = ssl }
        deinit { SSL_free(ssl) }

        func read(_ room: inout [UInt8]) -> Int { Int(SSL_read(ssl, &room, Int32(room.count))) }
        func write(_ bytes: [UInt8]) { SSL_write(ssl, bytes, Int32(bytes.count)) }
        func end() { SSL_shutdown(ssl) }
    }
}
