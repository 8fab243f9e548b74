import COpenSSL
import NIOCore
import SignalboxCrypto
import Testing

@testable import SignalboxHTTP

/// One end of a connection, and what it makes of received bytes.
final class TLSEnd {
    let session: TLSSession
    private(set) var handshake = TLSSession.Handshake.pending
    private(set) var reading = TLSSession.Reading.none
    private var plain = ByteBuffer()

    init(_ session: TLSSession) { self.session = session }

    var text: String { String(buffer: plain) }

    func begin() { handshake = session.handshake() }

    func receive(_ bytes: ByteBuffer) {
        session.receive(bytes)
        if handshake == .pending { handshake = session.handshake() }
        guard handshake == .done else { return }
        repeat { reading = session.read(into: &plain) } while reading == .some
    }

    func write(_ text: String) throws { try session.write(ByteBuffer(string: text)) }

    /// Limits TLS to this version and older ones.
    func limit(to version: Int32) {
        SSL_ctrl(session.pointer, SSL_CTRL_SET_MAX_PROTO_VERSION, Int(version), nil)
        SSL_ctrl(session.pointer, SSL_CTRL_SET_MIN_PROTO_VERSION, 0, nil)
        SSL_set_security_level(session.pointer, 0)
    }
}

/// A client and a server that exchange bytes in memory.
struct TLSRig {
    static let authority = Result { try ThrowAway.certificateAuthority(name: "test CA") }
    static let clients = Result { try ThrowAway.certificateAuthority(name: "clients") }
    static let identity = Result {
        try ThrowAway.serverIdentity(
            names: ["localhost", "*.example.com"], authority: try authority.get())
    }

    let client: TLSEnd
    let server: TLSEnd

    init(
        host: String = "localhost", client: TLSContext? = nil, server: TLSContext? = nil,
        resumption: TLSResumption = TLSResumption()
    ) throws {
        let client = try client ?? Self.client()
        let server = try server ?? Self.server()
        self.client = TLSEnd(try TLSSession(client: client, host: host, resumption: resumption))
        self.server = TLSEnd(try TLSSession(server: server))
    }

    static func client(
        roots: [UInt8]? = nil, identity: ThrowAway.Identity? = nil
    ) throws -> TLSContext {
        try TLSContext.client(
            alpn: TLSContext.ALPN.http2, roots: .pem(roots ?? authority.get().certificatePEM),
            identity: identity.map {
                TLSIdentity(chainPEM: $0.certificatePEM, keyPEM: $0.privateKeyPEM)
            })
    }

    static func server(
        _ identity: ThrowAway.Identity? = nil, alpn: StaticString? = TLSContext.ALPN.http2,
        clientRoots: [UInt8]? = nil
    ) throws -> TLSContext {
        let identity = try identity ?? Self.identity.get()
        return try TLSContext.server(
            alpn: alpn,
            identity: TLSIdentity(
                chainPEM: identity.certificatePEM, keyPEM: identity.privateKeyPEM),
            clientRoots: clientRoots)
    }

    /// Exchanges bytes, `step` at a time, until neither end has any left.
    func talk(by step: Int = .max) {
        if client.handshake == .pending { client.begin() }
        var isMoving = true
        while isMoving {
            isMoving = carry(from: client, to: server, by: step)
            isMoving = carry(from: server, to: client, by: step) || isMoving
        }
    }

    private func carry(from: TLSEnd, to: TLSEnd, by step: Int) -> Bool {
        guard var bytes = from.session.takeOutgoing() else { return false }
        while bytes.readableBytes > 0,
            let part = bytes.readSlice(length: min(step, bytes.readableBytes))
        {
            to.receive(part)
        }
        return true
    }
}
