internal import Glibc
internal import NIOCore
internal import NIOSSL

/// How connections to an endpoint check the peer and show themselves.
enum PushTLS {
    static func context(_ endpoint: PushEndpoint) throws(EndpointError) -> NIOSSLContext {
        var configuration = TLSConfiguration.makeClientConfiguration()
        configuration.minimumTLSVersion = .tlsv12
        configuration.applicationProtocols = ["h2"]
        // A peer that does not say goodbye must not hold up a stop.
        configuration.shutdownTimeout = .seconds(1)
        if let file = endpoint.caFile {
            try requireReadable(file)
            configuration.trustRoots = .file(file)
        }
        if let chain = endpoint.clientCertificatePEM, let key = endpoint.clientKeyPEM {
            do {
                configuration.certificateChain = try NIOSSLCertificate.fromPEMBytes(chain)
                    .map { .certificate($0) }
                configuration.privateKey = .privateKey(
                    try NIOSSLPrivateKey(bytes: key, format: .pem))
            } catch {
                throw EndpointError(message: "the client certificate or its key is not PEM")
            }
        }
        do {
            return try NIOSSLContext(configuration: configuration)
        } catch {
            try requireDescriptor()
            let what = endpoint.caFile.map { "the CA file \($0) is not PEM" }
            throw EndpointError(
                message: what ?? "the client certificate does not fit its key, or the system's "
                    + "trusted roots cannot be read")
        }
    }

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

    /// BoringSSL does not say why it could not read a file.
    private static func requireDescriptor() throws(EndpointError) {
        do throws(ResourceError) {
            try Descriptors.require(1)
        } catch {
            throw EndpointError(message: "TLS cannot be set up: \(error.message)")
        }
    }
}
