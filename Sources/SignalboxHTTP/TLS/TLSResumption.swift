internal import COpenSSL

/// The latest TLS session with a peer, so that the next connection to it skips the full handshake.
///
/// Used only on the pool's event loop.
final class TLSResumption {
    /// An `SSL_SESSION`.
    private var session: OpaquePointer?

    deinit { forget() }

    func forget() {
        SSL_SESSION_free(session)
        session = nil
    }

    func offer(to ssl: OpaquePointer) {
        // The callback below runs while the session reads, and the session keeps this object alive.
        SSL_set_ex_data(ssl, 0, Unmanaged.passUnretained(self).toOpaque())
        guard let session, SSL_SESSION_is_resumable(session) == 1 else { return }
        // It takes its own reference.
        SSL_set_session(ssl, session)
    }

    /// Called for each session that a peer offers; returns 1 if it keeps the reference.
    static let callback: @convention(c) (OpaquePointer?, OpaquePointer?) -> Int32 = {
        ssl, session in
        guard let own = SSL_get_ex_data(ssl, 0) else { return 0 }
        let resumption = Unmanaged<TLSResumption>.fromOpaque(own).takeUnretainedValue()
        resumption.forget()
        resumption.session = session
        return 1
    }
}
