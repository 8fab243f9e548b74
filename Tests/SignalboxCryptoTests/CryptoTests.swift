import Foundation
import SignalboxCrypto
import Testing

@Suite struct CryptoTests {
    static let body = Array(#"{"category":"group_channel:message_send","app_id":"APP"}"#.utf8)

    @Test func `known HMACs come out`() {
        #expect(
            Hex.encode(HMACDigest.sha256(key: Array("master-api-token".utf8), data: Self.body))
                == "7a28a9867a4077bc4b90dd73d7bffdc4fb325b75329c77b3bbace93d75a007a7")
        #expect(
            Hex.encode(HMACDigest.sha1(key: Array("desk-api-token".utf8), data: Self.body))
                == "db39cf1859be318dfe9f8d9d3cf18a92a567c939")
        let stamped = Array("2026-01-02T03:04:05Z".utf8) + Self.body
        #expect(
            Base64.encode(HMACDigest.sha256(key: Array("zd-secret".utf8), data: stamped))
                == "Dr/2r0T3s/oPaX4n5ruXjLaFJ+w9g1Lrt+F5FUO4rV4=")
        // RFC 4231 has no empty key, but a config may: it must not read a stale one.
        #expect(
            Hex.encode(HMACDigest.sha256(key: [], data: []))
                == "b613679a0814d9ec772f95d778c35fc5ff1697c493715653c6c712144292c5ad")
    }

    @Test func `digests and comparisons`() {
        #expect(
            Hex.encode(Digest.sha256(Array("abc".utf8)))
                == "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad")
        #expect(HMACDigest.isEqual([1, 2], [1, 2]))
        #expect(!HMACDigest.isEqual([1, 2], [1, 3]))
        #expect(!HMACDigest.isEqual([1, 2], [1]))
    }

    @Test(arguments: ["", "f", "fo", "foo", "foob", "fooba", "foobar"])
    func `base64 there and back`(text: String) {
        let bytes = Array(text.utf8)
        #expect(Base64.decode(Base64.encode(bytes)) == bytes)
        #expect(Base64.decode(Base64.encode(bytes, url: true)) == bytes)
        #expect(Hex.decode(Hex.encode(bytes)) == bytes)
    }

    @Test func `malformed encodings are refused`() {
        #expect(Base64.decode("a") == nil)
        #expect(Base64.decode("ab=c") == nil)
        #expect(Base64.decode("a b") == nil)
        #expect(Base64.decode(canonicalURL: "-_8") == [0xfb, 0xff])
        for other in ["-_8=", "-_9", "+/8", "-_8\n", " -_8", "-"] {
            #expect(Base64.decode(canonicalURL: other) == nil, "\(other)")
        }
        #expect(Base64.encode([0xfb, 0xff], url: true) == "-_8")
        #expect(Hex.decode("abc") == nil)
        #expect(Hex.decode("zz") == nil)
    }

    @Test func `ES256 signatures are raw and fit their key alone`() throws {
        let key = try ThrowAway.p256Key()
        let signature = try key.signES256(Self.body)
        #expect(signature.count == 64)
        let verifier = try VerifyingKey(pem: try key.publicKeyPEM())
        #expect(verifier.verifyES256(signature, data: Self.body))
        #expect(!verifier.verifyES256(signature, data: Self.body + [0]))
        #expect(!verifier.verifyES256([UInt8](repeating: 1, count: 64), data: Self.body))
        #expect(!verifier.verifyES256([1], data: Self.body))
        let other = try VerifyingKey(pem: try ThrowAway.p256Key().publicKeyPEM())
        #expect(!other.verifyES256(signature, data: Self.body))
        #expect(throws: CryptoError.self) { try key.signRS256(Self.body) }
    }

    @Test func `RS256 and PS256`() throws {
        let key = try ThrowAway.rsaKey()
        let verifier = try VerifyingKey(pem: try key.publicKeyPEM())
        let plain = try key.signRS256(Self.body)
        let pss = try key.signPS256(Self.body)
        #expect(verifier.verifyRS256(plain, data: Self.body))
        #expect(verifier.verifyPS256(pss, data: Self.body))
        #expect(!verifier.verifyRS256(pss, data: Self.body))
        #expect(!verifier.verifyPS256(plain, data: Self.body))
        #expect(throws: CryptoError.self) { try key.signES256(Self.body) }
    }

    @Test func `keys come back from PEM and others are refused with words`() throws {
        let key = try ThrowAway.p256Key()
        let again = try SigningKey(pem: try key.privateKeyPEM())
        #expect(try again.publicKeyPEM() == key.publicKeyPEM())
        for text in [
            "", "nonsense", "-----BEGIN PRIVATE KEY-----\nAAAA\n-----END PRIVATE KEY-----\n",
        ] {
            let error = #expect(throws: CryptoError.self) { try SigningKey(pem: Array(text.utf8)) }
            #expect(error?.message.contains("PEM") == true)
        }
    }

    @Test func `a public key is read from every PEM text that has one`() throws {
        let server = try ThrowAway.serverIdentity(
            authority: try ThrowAway.certificateAuthority(name: "test CA"))
        let key = try SigningKey(pem: server.privateKeyPEM)
        let signature = try key.signES256(Self.body)
        for pem in [
            try key.publicKeyPEM(), server.certificatePEM, server.privateKeyPEM,
            server.privateKeyPEM + server.certificatePEM,
        ] {
            let verifier = try VerifyingKey(anyPEM: pem)
            #expect(verifier.algorithm == .p256)
            #expect(verifier.verifyES256(signature, data: Self.body))
        }
        let error = #expect(throws: CryptoError.self) { try VerifyingKey(anyPEM: Self.body) }
        #expect(error?.message.contains("PEM") == true)
        #expect(throws: CryptoError.self) { try SigningKey(pem: try key.publicKeyPEM()) }
    }

    @Test
    func `a server's certificate is trusted for its names, its addresses and TLS servers alone`()
        throws
    {
        let authority = try ThrowAway.certificateAuthority(name: "test CA")
        let server = try ThrowAway.serverIdentity(names: ["push.test"], authority: authority)
        let other = try ThrowAway.certificateAuthority(name: "test CA")
        #expect(try Self.isTrusted(server, authority, ["-verify_hostname", "push.test"]))
        #expect(try Self.isTrusted(server, authority, ["-verify_ip", "127.0.0.1"]))
        #expect(try Self.isTrusted(server, authority, ["-verify_ip", "::1"]))
        #expect(!(try Self.isTrusted(server, authority, ["-verify_hostname", "other.test"])))
        #expect(!(try Self.isTrusted(server, authority, ["-purpose", "sslclient"])))
        #expect(!(try Self.isTrusted(server, other, [])))
        // The key belongs to the certificate.
        let signature = try SigningKey(pem: server.privateKeyPEM).signES256(Self.body)
        #expect(
            try VerifyingKey(anyPEM: server.certificatePEM).verifyES256(signature, data: Self.body))
    }

    /// Whether OpenSSL's own tool trusts the chain under this authority.
    private static func isTrusted(
        _ server: ThrowAway.Identity, _ authority: ThrowAway.Identity, _ options: [String]
    ) throws -> Bool {
        let folder = FileManager.default.temporaryDirectory.appending(path: UUID().uuidString)
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: folder) }
        let (root, chain) = (folder.appending(path: "root"), folder.appending(path: "chain"))
        try Data(authority.certificatePEM).write(to: root)
        try Data(server.certificatePEM).write(to: chain)
        let process = Process()
        process.executableURL = URL(filePath: "/usr/bin/env")
        process.arguments =
            ["openssl", "verify", "-purpose", "sslserver", "-CAfile", root.path]
            + options + [chain.path]
        process.standardOutput = FileHandle.nullDevice
        process.standardError = FileHandle.nullDevice
        try process.run()
        process.waitUntilExit()
        return process.terminationStatus == 0
    }
}
