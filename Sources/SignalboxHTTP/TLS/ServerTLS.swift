package import NIOCore

/// TLS for a server in another room.
package struct ServerTLS: Sendable {
    private let context: TLSContext

    /// An identity as PEM. With `clientRootsPEM` a client may show a certificate, and it must be one of theirs.
    package init(
        chainPEM: [UInt8], keyPEM: [UInt8], clientRootsPEM: [UInt8]?, offersHTTP2: Bool
    ) throws {
        context = try TLSContext.server(
            alpn: offersHTTP2 ? TLSContext.ALPN.http2 : nil,
            identity: TLSIdentity(chainPEM: chainPEM, keyPEM: keyPEM), clientRoots: clientRootsPEM)
    }

    /// Puts TLS in front of the handlers that are added afterwards.
    ///
    /// Thread: the channel's event loop.
    package func begin(on channel: any Channel) throws {
        try channel.pipeline.syncOperations.addHandler(
            TLSHandler(try TLSSession(server: context)))
    }

    /// The client, if the event says that the handshake is done; its certificate is DER, and empty if it showed none.
    ///
    /// Thread: the channel's event loop.
    package static func peer(
        after event: Any, on channel: any Channel
    ) -> (certificate: [UInt8], alpn: String?)? {
        guard let done = event as? TLSHandshakeDone else { return nil }
        let tls = try? channel.pipeline.syncOperations.handler(type: TLSHandler.self)
        return (tls?.peerCertificate ?? [], done.alpn)
    }
}
