import Foundation
import Logging
import PluginRig
import SignalboxCore
import SignalboxCrypto
import Testing

@testable import SignalboxHTTP

/// Certificates whose host is in the common name alone.
@Suite struct CommonNameTests {
    /// A certificate that openssl makes for `CN=localhost`, with or without a subjectAltName.
    private func identity(
        _ folder: URL, hasNames: Bool
    ) async throws -> (ca: String, identity: TLSIdentity) {
        let (key, chain) = (
            folder.appending(path: "key.pem").path, folder.appending(path: "c.pem").path
        )
        try await Tool.output(
            [
                "openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256",
                "-nodes", "-days", "2", "-subj", "/CN=localhost", "-keyout", key, "-out", chain,
            ] + (hasNames ? ["-addext", "subjectAltName=DNS:localhost"] : []))
        return (
            chain,
            TLSIdentity(
                chainPEM: Array(try Data(contentsOf: URL(filePath: chain))),
                keyPEM: Array(try Data(contentsOf: URL(filePath: key))))
        )
    }

    @Test(arguments: [true, false])
    func `a certificate with a common name alone is refused`(hasNames: Bool) async throws {
        let folder = try Workshop.folder()
        let (ca, identity) = try await identity(folder, hasNames: hasNames)
        let rig = try TLSRig(
            host: "localhost", client: TLSRig.client(roots: identity.chainPEM),
            server: TLSContext.server(
                alpn: TLSContext.ALPN.http2, identity: identity, clientRoots: nil))
        rig.talk()
        #expect((rig.client.handshake == .done) == hasNames)
        // The same of libcurl.
        var options = HTTPServerOptions(host: "127.0.0.1", port: 0)
        options.tls = ListenerTLS(
            try HTTPServerTLS(
                certificateChainPEM: identity.chainPEM, privateKeyPEM: identity.keyPEM))
        let server = try await HTTPServer.start(
            options, logger: Logger(label: "test") { _ in SwiftLogNoOpLogHandler() },
            handler: WebRig.Echo(gate: nil))
        let client = try RESTClient()
        var call = RESTCall(method: "GET", url: "https://localhost:\(server.port)/known")
        call.caFile = ca
        let status = try? await client.answer(call).status
        #expect(status == (hasNames ? 200 : nil))
        await client.close()
        await server.shutdown()
        try? FileManager.default.removeItem(at: folder)
    }
}
