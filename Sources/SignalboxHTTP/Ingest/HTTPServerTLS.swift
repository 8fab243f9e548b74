extension HTTPServerTLS {
    func context() throws(TLSFault) -> TLSContext {
        do throws(TLSContext.Part) {
            return try TLSContext.server(
                alpn: TLSContext.ALPN.http1,
                identity: TLSIdentity(chainPEM: certificateChainPEM, keyPEM: privateKeyPEM),
                clientRoots: clientRootsPEM)
        } catch {
            throw TLSFault(.setUp, Self.text(error))
        }
    }

    private static func text(_ part: TLSContext.Part) -> String {
        switch part {
        case .chain: "the certificate is not PEM, or too weak for the system's OpenSSL"
        case .key: "the key is not PEM, or needs a password"
        case .pair: "the certificate does not match the key"
        case .roots: "the clients' CA is not PEM"
        case .memory: "TLS cannot be set up: no memory"
        }
    }
}
