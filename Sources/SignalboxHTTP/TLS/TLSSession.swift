internal import COpenSSL
internal import NIOCore

/// One TLS connection without a network: takes bytes from the peer, and produces bytes for the peer.
///
/// Used only on its event loop. OpenSSL's error queue belongs to the thread, and is emptied
/// before each call whose result depends on it.
final class TLSSession {
    enum Handshake: Equatable {
        case done, pending
        case failed(TLSFault)
    }

    enum Reading: Equatable {
        /// Plain text was appended to the buffer; there may be more.
        case some
        /// Nothing to read until the peer sends more.
        case none
        /// The peer sends no more: its close_notify was received.
        case ended
        case failed(TLSFault)
    }

    /// An `SSL`.
    let pointer: OpaquePointer
    private let wire: TLSWire
    private let isServer: Bool
    private let host: String?
    private let resumption: TLSResumption?

    /// Makes the server side.
    convenience init(server context: TLSContext) throws(TLSFault) {
        try self.init(context, host: nil, resumption: nil)
    }

    /// Makes the client side. `host` is the name or IP address that the peer's certificate must match.
    convenience init(
        client context: TLSContext, host: String, resumption: TLSResumption
    ) throws(TLSFault) {
        try self.init(context, host: host, resumption: resumption)
        resumption.offer(to: pointer)
    }

    private init(
        _ context: TLSContext, host: String?, resumption: TLSResumption?
    ) throws(TLSFault) {
        ERR_clear_error()
        guard let pointer = SSL_new(context.pointer) else { throw .queued(.setUp) }
        self.pointer = pointer
        self.host = host
        self.resumption = resumption
        isServer = context.isServer
        wire = TLSWire(keepsBuffer: !isServer)
        guard let bio = wire.makeBIO() else { throw .queued(.setUp) }
        // One reference to the BIO serves both directions; the session frees it.
        SSL_set_bio(pointer, bio, bio)
        if context.isServer {
            SSL_set_accept_state(pointer)
        } else {
            SSL_set_connect_state(pointer)
        }
        if let host { try expect(host) }
    }

    deinit { SSL_free(pointer) }

    private func expect(_ host: String) throws(TLSFault) {
        defer { ERR_clear_error() }
        guard X509_VERIFY_PARAM_set1_ip_asc(SSL_get0_param(pointer), host) != 1 else { return }
        // RFC 9525: only names in the subjectAltName count. A common name does not.
        SSL_set_hostflags(
            pointer,
            UInt32(X509_CHECK_FLAG_NO_PARTIAL_WILDCARDS | X509_CHECK_FLAG_NEVER_CHECK_SUBJECT))
        // C would end the name at a zero byte.
        guard !host.utf8.contains(0), SSL_set1_host(pointer, host) == 1,
            csbx_tls_set_name(pointer, host) == 1
        else {
            throw TLSFault(.setUp, "\(host) is not a valid host name")
        }
    }

    /// Whether buffers are used again. A gateway has few connections to providers, but may have very many from
    /// clients, most of them idle.
    var keepsBuffers: Bool { !isServer }

    // MARK: The network's side

    func receive(_ bytes: ByteBuffer) { wire.receive(bytes) }

    /// Takes the bytes to send to the peer, or nil.
    func takeOutgoing() -> ByteBuffer? { wire.take() }

    // MARK: Our side

    /// Continues the handshake as far as the received bytes allow.
    func handshake() -> Handshake {
        ERR_clear_error()
        let status = SSL_do_handshake(pointer)
        guard status != 1 else { return .done }
        guard SSL_get_error(pointer, status) != SSL_ERROR_WANT_READ else { return .pending }
        // A session that failed must not be offered again.
        resumption?.forget()
        return .failed(verifyFault ?? .queued(.handshake))
    }

    /// Whether there are unread bytes; saves a read that finds nothing.
    var hasMore: Bool { wire.incoming.readableBytes > 0 || SSL_has_pending(pointer) == 1 }

    /// Decrypts one record, or a part of one, and appends it.
    func read(into buffer: inout ByteBuffer) -> Reading {
        Self.forgetErrors()
        var count = 0
        var status: Int32 = 0
        buffer.writeWithUnsafeMutableBytes(minimumWritableBytes: 512) { room in
            status = SSL_read_ex(pointer, room.baseAddress, room.count, &count)
            return count
        }
        guard status != 1 else { return .some }
        switch SSL_get_error(pointer, status) {
        case SSL_ERROR_WANT_READ: return .none
        case SSL_ERROR_ZERO_RETURN: return .ended
        default: return .failed(.queued(.record))
        }
    }

    /// Encrypts the bytes into memory; never waits for the peer.
    func write(_ buffer: ByteBuffer) throws(TLSFault) {
        guard buffer.readableBytes > 0 else { return }
        Self.forgetErrors()
        wire.reserve(plain: buffer.readableBytes)
        let status = buffer.withUnsafeReadableBytes { bytes in
            var count = 0
            return SSL_write_ex(pointer, bytes.baseAddress, bytes.count, &count)
        }
        guard status == 1 else { throw .queued(.record) }
    }

    /// Writes a close_notify. Call it only after a completed handshake, and not after a fault.
    func sayGoodbye() {
        ERR_clear_error()
        _ = SSL_shutdown(pointer)
        ERR_clear_error()
    }

    /// Clearing costs a thousand instructions, and there is rarely an error to clear.
    private static func forgetErrors() {
        if ERR_peek_error() != 0 { ERR_clear_error() }
    }

    /// The protocol negotiated by ALPN, or nil.
    var alpn: String? {
        var start: UnsafePointer<UInt8>?
        var count: UInt32 = 0
        SSL_get0_alpn_selected(pointer, &start, &count)
        guard let start else { return nil }
        return String(decoding: UnsafeBufferPointer(start: start, count: Int(count)), as: UTF8.self)
    }

    /// The peer's certificate, DER; empty if it sent none.
    var peerCertificate: [UInt8] {
        guard let certificate = SSL_get1_peer_certificate(pointer) else { return [] }
        defer { X509_free(certificate) }
        let count = i2d_X509(certificate, nil)
        guard count > 0 else { return [] }
        return [UInt8](unsafeUninitializedCapacity: Int(count)) { room, filled in
            var start = room.baseAddress
            filled = Int(max(0, i2d_X509(certificate, &start)))
        }
    }

    /// The error in the peer's certificate, or nil.
    private var verifyFault: TLSFault? {
        let result = SSL_get_verify_result(pointer)
        guard result != X509_V_OK,
            ERR_GET_REASON(ERR_peek_error()) == SSL_R_CERTIFICATE_VERIFY_FAILED
        else { return nil }
        ERR_clear_error()
        let words = String(cString: X509_verify_cert_error_string(result))
        switch Int32(truncatingIfNeeded: result) {
        case X509_V_ERR_HOSTNAME_MISMATCH, X509_V_ERR_IP_ADDRESS_MISMATCH:
            return TLSFault(.handshake, "the peer's certificate is not for \(host ?? "this host")")
        case X509_V_ERR_CERT_HAS_EXPIRED, X509_V_ERR_CERT_NOT_YET_VALID:
            return TLSFault(.handshake, "the peer's certificate is out of date (\(words))")
        default:
            let advice = isServer ? "" : "; check the CA file"
            return TLSFault(.handshake, "the peer's certificate is not trusted (\(words))\(advice)")
        }
    }
}
