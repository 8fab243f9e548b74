internal import NIOSSL

extension HTTPServerTLS {
    func configuration() throws -> TLSConfiguration {
        var configuration = TLSConfiguration.makeServerConfiguration(
            certificateChain: try NIOSSLCertificate.fromPEMBytes(certificateChainPEM)
                .map { .certificate($0) },
            privateKey: .privateKey(try NIOSSLPrivateKey(bytes: privateKeyPEM, format: .pem)))
        configuration.minimumTLSVersion = .tlsv12
        configuration.applicationProtocols = ["http/1.1"]
        if let clientRootsPEM {
            configuration.trustRoots = .certificates(
                try NIOSSLCertificate.fromPEMBytes(clientRootsPEM))
            configuration.certificateVerification = .optionalVerification
        }
        return configuration
    }
}
