import COpenSSL
import NIOCore
import SignalboxCrypto
import Testing

@testable import SignalboxHTTP

/// TLS between two parties that exchange bytes in memory.
@Suite struct TLSSessionTests {
    static let versions = [TLS1_2_VERSION, TLS1_3_VERSION]

    private func fault(_ end: TLSEnd) -> String? {
        guard case .failed(let fault) = end.handshake else { return nil }
        return fault.description
    }

    @Test(arguments: versions, [1, 7, Int.max])
    func `records may come in pieces of any size`(version: Int32, step: Int) throws {
        let rig = try TLSRig()
        rig.client.limit(to: version)
        rig.talk(by: step)
        #expect(rig.client.handshake == .done && rig.server.handshake == .done)
        #expect(SSL_version(rig.client.session.pointer) == version)
        #expect(rig.client.session.alpn == "h2" && rig.server.session.alpn == "h2")
        let long = String(repeating: "0123456789", count: 5_000)
        try rig.client.write("there" + long)
        try rig.server.write("back" + long)
        rig.talk(by: step)
        #expect(rig.server.text == "there" + long)
        #expect(rig.client.text == "back" + long)
        rig.client.session.sayGoodbye()
        rig.talk(by: step)
        #expect(rig.server.reading == .ended)
    }

    @Test func `versions before 1.2 are refused`() throws {
        let rig = try TLSRig()
        rig.client.limit(to: TLS1_1_VERSION)
        rig.talk()
        #expect(fault(rig.server) == "unsupported protocol")
        #expect(fault(rig.client)?.contains("protocol version") == true)
    }

    @Test func `a client that wants to renegotiate is refused`() throws {
        let rig = try TLSRig()
        rig.client.limit(to: TLS1_2_VERSION)
        rig.talk()
        let pointer = rig.client.session.pointer
        // SSL_OP_NO_RENEGOTIATION, which our clients set as well.
        SSL_clear_options(pointer, 1 << 30)
        #expect(SSL_renegotiate(pointer) == 1)
        #expect(SSL_do_handshake(pointer) != 1)
        rig.talk()
        #expect("\(rig.client.reading)".contains("no renegotiation"))
    }

    @Test(arguments: [
        ("localhost", true), ("push.example.com", true), ("127.0.0.1", true), ("::1", true),
        ("other.test", false), ("a.push.example.com", false), ("127.0.0.2", false),
        ("::2", false), ("example.com", false),
    ])
    func `a certificate is good for its names and addresses alone`(host: String, isGood: Bool)
        throws
    {
        let rig = try TLSRig(host: host)
        rig.talk()
        #expect(fault(rig.client) == (isGood ? nil : "the peer's certificate is not for \(host)"))
        #expect((rig.client.handshake == .done) == isGood)
        #expect((fault(rig.server)?.contains("bad certificate") == true) == !isGood)
    }

    @Test func `an unknown authority is refused`() throws {
        let stranger = try ThrowAway.certificateAuthority(name: "stranger")
        let rig = try TLSRig(client: TLSRig.client(roots: stranger.certificatePEM))
        rig.talk()
        #expect(fault(rig.client)?.contains("not trusted") == true)
        #expect(fault(rig.client)?.hasSuffix("check the CA file") == true)
    }

    @Test func `a certificate that has expired is refused`() throws {
        let old = try ThrowAway.serverIdentity(days: -1, authority: TLSRig.authority.get())
        let rig = try TLSRig(server: TLSRig.server(old))
        rig.talk()
        #expect(
            fault(rig.client)
                == "the peer's certificate is out of date (certificate has expired)")
    }

    @Test func `a certificate for clients is none for a server`() throws {
        let wrong = try ThrowAway.clientIdentity(
            name: "localhost", authority: TLSRig.authority.get())
        let rig = try TLSRig(server: TLSRig.server(wrong))
        rig.talk()
        #expect(fault(rig.client)?.contains("not trusted") == true)
    }

    @Test func `without a common protocol the client learns that there is none`() throws {
        for alpn in [nil, TLSContext.ALPN.http1] as [StaticString?] {
            let rig = try TLSRig(server: TLSRig.server(alpn: alpn))
            rig.talk()
            #expect(rig.client.handshake == .done && rig.client.session.alpn == nil)
        }
    }

    // MARK: Clients' certificates

    @Test(arguments: versions)
    func `a client may show a certificate, and the server sees it`(version: Int32) throws {
        let clients = try TLSRig.clients.get()
        let own = try ThrowAway.clientIdentity(name: "one", authority: clients)
        let server = try TLSRig.server(clientRoots: clients.certificatePEM)
        let rig = try TLSRig(client: TLSRig.client(identity: own), server: server)
        rig.client.limit(to: version)
        rig.talk()
        #expect(rig.client.handshake == .done && rig.server.handshake == .done)
        let shown = try Certificate.read(der: rig.server.session.peerCertificate)
        #expect(shown.subject == "CN=one")
        let silent = try TLSRig(server: server)
        silent.client.limit(to: version)
        silent.talk()
        #expect(silent.server.handshake == .done)
        #expect(silent.server.session.peerCertificate.isEmpty)
    }

    @Test(arguments: versions)
    func `a client's certificate of another authority is refused, with an alert`(version: Int32)
        throws
    {
        let stranger = try ThrowAway.certificateAuthority(name: "stranger")
        let own = try ThrowAway.clientIdentity(name: "one", authority: stranger)
        let roots = try TLSRig.clients.get().certificatePEM
        let rig = try TLSRig(
            client: TLSRig.client(identity: own), server: TLSRig.server(clientRoots: roots))
        rig.client.limit(to: version)
        rig.talk()
        #expect(fault(rig.server)?.contains("not trusted") == true)
        // In TLS 1.3 the client had finished before the server saw its certificate.
        let ending = "\(rig.client.handshake) \(rig.client.reading)"
        #expect(ending.contains("unknown ca"))
    }

    // MARK: Resumption

    @Test(arguments: versions)
    func `a second connection resumes the session of the first`(version: Int32) throws {
        let clients = try TLSRig.clients.get()
        let own = try ThrowAway.clientIdentity(name: "one", authority: clients)
        let client = try TLSRig.client(identity: own)
        let server = try TLSRig.server(clientRoots: clients.certificatePEM)
        let resumption = TLSResumption()
        for round in 0..<3 {
            let rig = try TLSRig(client: client, server: server, resumption: resumption)
            rig.client.limit(to: version)
            rig.talk()
            #expect(rig.client.handshake == .done && rig.server.handshake == .done)
            #expect((SSL_session_reused(rig.client.session.pointer) == 1) == (round > 0))
            #expect(rig.client.session.alpn == "h2")
            #expect(!rig.server.session.peerCertificate.isEmpty)
            rig.client.session.sayGoodbye()
        }
    }

    @Test func `a server that has forgotten the session gets a whole handshake`() throws {
        let client = try TLSRig.client()
        let resumption = TLSResumption()
        for _ in 0..<2 {
            let rig = try TLSRig(client: client, resumption: resumption)
            rig.talk()
            #expect(rig.client.handshake == .done)
            #expect(SSL_session_reused(rig.client.session.pointer) == 0)
            rig.client.session.sayGoodbye()
        }
    }

    @Test func `a session is not offered again after a handshake that failed`() throws {
        let client = try TLSRig.client()
        let server = try TLSRig.server()
        let resumption = TLSResumption()
        let first = try TLSRig(client: client, server: server, resumption: resumption)
        first.talk()
        first.client.session.sayGoodbye()
        let second = try TLSRig(client: client, server: server, resumption: resumption)
        second.client.begin()
        second.client.receive(ByteBuffer(bytes: [21, 3, 3, 0, 2, 2, 40]))
        #expect(fault(second.client)?.contains("handshake failure") == true)
        let third = try TLSRig(client: client, server: server, resumption: resumption)
        third.talk()
        #expect(third.client.handshake == .done)
        #expect(SSL_session_reused(third.client.session.pointer) == 0)
    }

    // MARK: Bytes that are not TLS

    @Test(arguments: ["HTTP/1.1 400 Bad Request\r\n\r\n", "220 mail.example.com ESMTP\r\n"])
    func `a peer that answers in plain text does not speak TLS`(text: String) throws {
        let rig = try TLSRig()
        rig.client.begin()
        rig.client.receive(ByteBuffer(string: text))
        #expect(fault(rig.client) == "the peer does not speak TLS")
    }

    @Test func `a client that speaks plain HTTP does not speak TLS`() throws {
        let rig = try TLSRig()
        rig.server.receive(ByteBuffer(string: "POST /zendesk HTTP/1.1\r\nhost: a\r\n\r\n"))
        #expect(fault(rig.server) == "the peer does not speak TLS")
    }

    @Test(arguments: [true, false])
    func `a record beyond the largest is refused`(isEarly: Bool) throws {
        let rig = try TLSRig()
        if isEarly { rig.client.begin() } else { rig.talk() }
        rig.client.receive(ByteBuffer(bytes: [23, 3, 3, 0xFF, 0xFF, 0, 0, 0]))
        let ending = "\(rig.client.handshake) \(rig.client.reading)"
        #expect(ending.contains("too long"), "\(ending)")
    }

    @Test func `a bit that is turned over in any byte of a record is noticed`() throws {
        for place in 5..<60 {
            let rig = try TLSRig()
            rig.talk()
            try rig.server.write("a text that nobody may change")
            var record = try #require(rig.server.session.takeOutgoing())
            guard let byte: UInt8 = record.getInteger(at: place) else { break }
            record.setInteger(byte ^ 1, at: place)
            rig.client.receive(record)
            guard case .failed(let fault) = rig.client.reading else {
                Issue.record("byte \(place) was changed and nobody noticed")
                return
            }
            #expect(fault.kind == .record && rig.client.text.isEmpty)
        }
    }

    @Test func `whatever byte of a handshake is changed, no client takes it for done`() throws {
        let first = try TLSRig()
        first.client.begin()
        first.server.receive(try #require(first.client.session.takeOutgoing()))
        let size = try #require(first.server.session.takeOutgoing()).readableBytes
        // Prime steps, so that every part of the messages is hit.
        for place in stride(from: 0, to: size, by: 13) {
            let rig = try TLSRig()
            rig.client.begin()
            rig.server.receive(try #require(rig.client.session.takeOutgoing()))
            var flight = try #require(rig.server.session.takeOutgoing())
            guard let byte: UInt8 = flight.getInteger(at: place) else { continue }
            flight.setInteger(byte ^ 0x55, at: place)
            rig.client.receive(flight)
            #expect(rig.client.handshake != .done, "byte \(place)")
        }
    }

    // MARK: Set-up

    @Test func `what is wrong with an identity is told apart`() throws {
        let one = try TLSRig.identity.get()
        let other = try ThrowAway.serverIdentity(authority: TLSRig.authority.get())
        let cases: [([UInt8], [UInt8], TLSContext.Part)] = [
            (Array("x".utf8), one.privateKeyPEM, .chain), ([], one.privateKeyPEM, .chain),
            (one.certificatePEM, Array("x".utf8), .key),
            (one.certificatePEM, other.privateKeyPEM, .pair),
        ]
        for (chain, key, part) in cases {
            #expect(throws: part) {
                try TLSContext.server(
                    alpn: nil, identity: TLSIdentity(chainPEM: chain, keyPEM: key),
                    clientRoots: nil)
            }
        }
        #expect(throws: TLSContext.Part.roots) {
            try TLSRig.server(clientRoots: Array("x".utf8))
        }
        let fault = #expect(throws: TLSFault.self) {
            try TLSSession(
                client: TLSRig.client(), host: "a\u{0}b", resumption: TLSResumption())
        }
        #expect(fault?.kind == .setUp)
    }
}
