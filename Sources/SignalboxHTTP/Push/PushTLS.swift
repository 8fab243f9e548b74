internal import Glibc

/// Makes the TLS context of an endpoint: trusted roots and client identity.
enum PushTLS {
    static func context(_ endpoint: PushEndpoint) throws(EndpointError) -> TLSContext {
        var roots = TLSContext.Roots.system
        if let file = endpoint.caFile {
            try requireReadable(file)
            roots = .file(file)
        }
        var identity: TLSIdentity?
        if let chain = endpoint.clientCertificatePEM, let key = endpoint.clientKeyPEM {
            identity = TLSIdentity(chainPEM: chain, keyPEM: key)
        }
        do throws(TLSContext.Part) {
            return try TLSContext.client(
                alpn: TLSContext.ALPN.http2, roots: roots, identity: identity)
        } catch {
            throw EndpointError(message: text(error, endpoint))
        }
    }

    private static func text(_ part: TLSContext.Part, _ endpoint: PushEndpoint) -> String {
        switch part {
        case .chain: "the client certificate is not PEM, or too weak for the system's OpenSSL"
        case .key: "the key of the client certificate is not PEM, or needs a password"
        case .pair: "the client certificate does not match its key"
        case .roots: "the CA file \(endpoint.caFile ?? "of the system") is not PEM"
        case .memory: "TLS cannot be set up: no memory"
        }
    }

    /// OpenSSL does not say why it could not read a file.
    private static func requireReadable(_ file: String) throws(EndpointError) {
        let descriptor = open(file, O_RDONLY | O_CLOEXEC)
        guard descriptor < 0 else {
            close(descriptor)
            return
        }
        let number = errno
        throw EndpointError(
            message: "the CA file \(file) cannot be read: \(SystemError.text(number))")
    }
}
