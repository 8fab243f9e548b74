import Foundation
import Signalbox
import SignalboxCore
import SignalboxCrypto
import SignalboxHTTP
import Testing

/// The certificate of the public listener changes while the gateway runs.
@Suite struct CertificateTests {
    /// A certificate with its key and its issuer, as files in a folder.
    private static func issue(_ name: String, in folder: URL, pair: String? = nil) throws {
        let authority = try ThrowAway.certificateAuthority(name: name)
        let identity = try ThrowAway.serverIdentity(authority: authority)
        try Data(authority.certificatePEM).write(to: folder.appending(path: "\(name).pem"))
        try Data(identity.certificatePEM).write(to: folder.appending(path: "tls.crt"))
        guard pair == nil else { return }
        try Data(identity.privateKeyPEM).write(to: folder.appending(path: "tls.key"))
    }

    private static func rig(_ settings: String = "") async throws -> GatewayRig {
        let tls = #"tls: { certificate: "${file:tls.crt}", key: "${file:tls.key}" }"# + settings
        return try await GatewayRig(
            change: { $0.watchIntervalMs = 20 },
            config: {
                GatewayRig.yaml($0)
                    .replacing("drain: 5s", with: "drain: 5s, \(tls)")
            }, prepare: { try Self.issue("first", in: $1) })
    }

    /// The answer to a new connection that trusts one issuer, or nil if the handshake fails.
    private static func status(_ rig: GatewayRig, trusting name: String) async throws -> UInt32? {
        let client = try RESTClient()
        var call = RESTCall(method: "GET", url: "https://127.0.0.1:\(rig.gateway.port)/in/z")
        call.caFile = rig.folder.appending(path: "\(name).pem").path
        call.timeoutMs = 120_000
        let answer = try? await client.answer(call)
        client.shutdown()
        return answer?.status
    }

    @Test func `a reload renews the certificate, and refuses one without its key`() async throws {
        let rig = try await Self.rig()
        #expect(try await Self.status(rig, trusting: "first") == 405)
        try Self.issue("second", in: rig.folder)
        let report = try await rig.gateway.reload()
        #expect(report.settings == ["tls"] && report.needRestart == [] && report.changed == [])
        #expect(try await Self.status(rig, trusting: "second") == 405)
        #expect(try await Self.status(rig, trusting: "first") == nil)
        // The key has not been written yet.
        try Self.issue("third", in: rig.folder, pair: "missing")
        let fault = await #expect(throws: ConfigurationError.self) {
            try await rig.gateway.reload()
        }
        #expect(fault?.diagnostics.map(\.code) == ["bad-tls"])
        #expect(fault?.description.contains("the certificate does not match the key") == true)
        #expect(try await Self.status(rig, trusting: "second") == 405)
        #expect(rig.log.all.contains { $0.contains("reload rejected") })
        await rig.end()
    }

    @Test func `a watched certificate renews by itself`() async throws {
        let rig = try await Self.rig(", watch: true")
        try Self.issue("second", in: rig.folder)
        var status: UInt32?
        for _ in 0..<2_000 where status == nil {
            status = try await Self.status(rig, trusting: "second")
        }
        #expect(status == 405)
        await rig.end()
    }
}
