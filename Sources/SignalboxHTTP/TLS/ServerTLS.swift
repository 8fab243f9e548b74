package import NIOCore

/// TLS for a server in another module.
package struct ServerTLS: Sendable {
    private let context: TLSContext

    /// Takes an identity as PEM. With `clientRootsPEM` a client may send a certificate, which must chain to one of them.
    package init(
        chainPEM: [UInt8], keyPEM: [UInt8], clientRootsPEM: [UInt8]?, offersHTTP2: Bool
    ) throws {
        context = try TLSContext.server(
            alpn: offersHTTP2 ? TLSContext.ALPN.http2 : nil,
            identity: TLSIdentity(chainPEM: chainPEM, keyPEM: keyPEM), clientRoots: clientRootsPEM)
    }

    /// Adds TLS before the handlers that are added later.
    ///
    /// Thread: the channel's event loop.
    package func begin(on channel: any Channel) throws {
        try channel.pipeline.syncOperations.addHandler(
            TLSHandler(try TLSSession(server: context)))
    }

    /// The client's certificate (DER, empty if it sent none) and protocol, if the event ends its handshake.
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
