import Signalbox
import SignalboxCrypto
import SignalboxPluginHost
import Testing

/// The keys behind `sbx.sign/1`, in the gateway and in `signalbox plugins check`.
@Suite struct KeyRingTests {
    private static let data = Array("what was signed".utf8)
    private let ring = KeyRing()

    private static func keys() throws -> [(SignAlgorithm, SigningKey)] {
        let rsa = try ThrowAway.rsaKey()
        return [(.es256, try ThrowAway.p256Key()), (.rs256, rsa), (.ps256, rsa)]
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

    @Test func `a public key does not sign`() throws {
        for (algorithm, key) in try Self.keys() {
            let fault = #expect(throws: PluginFault.self) {
                try ring.sign(algorithm, key: try key.publicKeyPEM(), data: Self.data)
            }
            #expect(fault?.kind == .invalid)
        }
    }
}
