internal import COpenSSL

/// Why TLS setup failed, or why a connection ended; the message holds no secret.
struct TLSFault: Error, Hashable, CustomStringConvertible {
    enum Kind { case setUp, handshake, record, truncated }

    let kind: Kind
    let description: String

    init(_ kind: Kind, _ description: String) {
        self.kind = kind
        self.description = description
    }

    /// The peer closed TCP without a close_notify: its data may be incomplete.
    static let truncated = TLSFault(
        .truncated, "the peer closed the connection without close_notify")
    /// The peer closed TCP during the handshake.
    static let cut = TLSFault(.handshake, "the peer closed the connection during the handshake")

    /// It asks for answers, such as KeyUpdate, faster than it reads them.
    static let flooded = TLSFault(.record, "the peer asks for more and more, and reads no answers")

    /// The first error in this thread's OpenSSL queue; empties the queue.
    static func queued(_ kind: Kind) -> TLSFault {
        let code = ERR_peek_error()
        defer { ERR_clear_error() }
        if isPlaintext(code) { return TLSFault(kind, "the peer does not speak TLS") }
        if isNoProtocol(code) { return TLSFault(kind, "the peer did not offer h2 by ALPN") }
        guard let reason = ERR_reason_error_string(code) else {
            return TLSFault(kind, "no reason given")
        }
        return TLSFault(kind, String(cString: reason))
    }

    /// Whether the code is a server's alert that it speaks none of the protocols that this client offers: h2 alone.
    private static func isNoProtocol(_ code: UInt) -> Bool {
        ERR_GET_LIB(code) == ERR_LIB_SSL
            && ERR_GET_REASON(code) == SSL_R_TLSV1_ALERT_NO_APPLICATION_PROTOCOL
    }

    /// Whether the code is an error for bytes that are not a TLS record.
    private static func isPlaintext(_ code: UInt) -> Bool {
        guard ERR_GET_LIB(code) == ERR_LIB_SSL else { return false }
        return [SSL_R_WRONG_VERSION_NUMBER, SSL_R_HTTP_REQUEST, SSL_R_HTTPS_PROXY_REQUEST]
            .contains(ERR_GET_REASON(code))
    }
}
