import SignalboxCrypto
import SignalboxGateway
import SignalboxPluginHost
import Testing

/// The keys behind `sbx.sign/1`, in the gateway and in `signalbox plugins check`.
@Suite struct KeyRingTests {
    private static let data = Array("what was signed".utf8)
    private let ring = KeyRing()

    private static func keys() throws -> [(SignAlgorithm, SigningKey)] {
        let rsa = try ThrowAway.rsaKey()
        return [
            (.es256, try ThrowAway.p256Key()), (.rs256, rsa), (.ps256, rsa),
            (.ed25519, try ThrowAway.ed25519Key()),
        ]
    }

    @Test func `a signature is checked with the public key alone`() throws {
        for (algorithm, key) in try Self.keys() {
            let signature = try ring.sign(
                algorithm, key: try key.privateKeyPEM(), data: Self.data)
            for pem in [try key.publicKeyPEM(), try key.privateKeyPEM()] {
                // The second time the key comes from the cache.
                for _ in 0..<2 {
                    #expect(
                        try ring.verify(algorithm, key: pem, data: Self.data, signature: signature))
                }
                #expect(
                    try !ring.verify(algorithm, key: pem, data: [0], signature: signature))
                #expect(
                    try !ring.verify(algorithm, key: pem, data: Self.data, signature: [1, 2, 3]))
            }
        }
    }

    @Test func `a certificate's key is used`() throws {
        let identity = try ThrowAway.serverIdentity(
            authority: try ThrowAway.certificateAuthority(name: "test CA"))
        let signature = try ring.sign(.es256, key: identity.privateKeyPEM, data: Self.data)
        #expect(
            try ring.verify(
                .es256, key: identity.certificatePEM, data: Self.data, signature: signature))
    }

    @Test func `a key of another kind, and what is no key, are refused`() throws {
        for (algorithm, _) in try Self.keys() {
            let other = algorithm == .es256 ? try ThrowAway.rsaKey() : try ThrowAway.p256Key()
            for key in [try other.publicKeyPEM(), Array("hunter2".utf8), []] {
                let fault = #expect(throws: PluginFault.self) {
                    try ring.verify(algorithm, key: key, data: Self.data, signature: [])
                }
                #expect(fault?.kind == .invalid)
                #expect(fault?.message.contains("hunter2") == false)
            }
        }
    }

    @Test func `a JWK verifies as its PEM does, alone and in a set`() throws {
        let keys = try Self.keys()
        let set = keys.enumerated().map { index, key in
            #"{"kid":"k\#(index)",\#(key.1.publicKeyJWK.dropFirst())"#
        }
        let documents = [#" {"keys":[\#(set.joined(separator: ","))]}"#]
        for (algorithm, key) in keys {
            let signature = try ring.sign(
                algorithm, key: try key.privateKeyPEM(), data: Self.data)
            for document in documents + [key.publicKeyJWK] {
                let bytes = Array(document.utf8)
                #expect(
                    try ring.verify(
                        algorithm, key: bytes, data: Self.data, signature: signature))
                #expect(
                    try !ring.verify(algorithm, key: bytes, data: [0], signature: signature))
            }
        }
    }

    @Test(arguments: [
        "{}", "{", #"{"kty":"RSA","n":"AQAB","e":"AQAB"}"#,
        #"{"kty":"EC","crv":"P-256","x":"AA","y":"AA"}"#, #"{"kty":"oct","k":"AA"}"#,
        #"{"kty":"OKP","crv":"Ed25519","use":"enc","x":"11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo"}"#,
    ])
    func `a document without a usable key is refused`(document: String) {
        for algorithm in [SignAlgorithm.es256, .rs256, .ed25519] {
            let fault = #expect(throws: PluginFault.self) {
                try ring.verify(
                    algorithm, key: Array(document.utf8), data: Self.data, signature: [])
            }
            #expect(fault?.kind == .invalid)
        }
    }

    /// RFC 8037, appendix A.
    @Test func `Ed25519's vector`() throws {
        let x = "11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo"
        let jwk = #"{"crv":"Ed25519","kty":"OKP","x":"\#(x)"}"#
        let signature = try #require(
            Base64.decode(
                "hgyY0il_MGCjP0JzlnLWG1PPOt7-09PGcvMg3AIbQR6dWbhijcNR4ki4iylGjg5BhVsPt9g7sVvpAr_MuM0KAg"
            ))
        #expect(
            try ring.verify(
                .ed25519, key: Array(jwk.utf8),
                data: Array("eyJhbGciOiJFZERTQSJ9.RXhhbXBsZSBvZiBFZDI1NTE5IHNpZ25pbmc".utf8),
                signature: signature))
        // Its thumbprint, by RFC 7638.
        #expect(
            Base64.encode(Digest.sha256(Array(jwk.utf8)), url: true)
                == "kPrK_qmxVWaYVA9wwBF6Iuo3vVzz7TxHCTwXBygrS4k")
    }

    @Test func `the public half of a private key comes in each form`() throws {
        for (algorithm, key) in try Self.keys() {
            let pem = try key.privateKeyPEM()
            let signature = try ring.sign(algorithm, key: pem, data: Self.data)
            for form in [PublicKeyForm.jwk, .pem] {
                let half = try ring.publicKey(form, key: pem)
                #expect(
                    try ring.verify(algorithm, key: half, data: Self.data, signature: signature))
                #expect(!String(decoding: half, as: UTF8.self).contains("PRIVATE"))
            }
            switch algorithm {
            case .es256:
                let raw = try ring.publicKey(.raw, key: pem)
                let same = try VerifyingKey(p256X: Array(raw[1...32]), y: Array(raw[33...]))
                #expect(raw.first == 4 && same.verifyES256(signature, data: Self.data))
            case .ed25519:
                let same = try VerifyingKey(ed25519: try ring.publicKey(.raw, key: pem))
                #expect(same.verifyEd25519(signature, data: Self.data))
            default:
                let fault = #expect(throws: PluginFault.self) {
                    try ring.publicKey(.raw, key: pem)
                }
                #expect(fault?.kind == .unsupported)
            }
            #expect(throws: PluginFault.self) {
                try ring.publicKey(.pem, key: try key.publicKeyPEM())
            }
        }
    }

    @Test func `a public key does not sign`() throws {
        for (algorithm, key) in try Self.keys() {
            let fault = #expect(throws: PluginFault.self) {
                try ring.sign(algorithm, key: try key.publicKeyPEM(), data: Self.data)
            }
            #expect(fault?.kind == .invalid)
        }
    }
}
