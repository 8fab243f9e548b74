import SignalboxCrypto

@testable import Signalbox
@testable import SignalboxGateway

extension FuzzTarget {
    /// A token of a user, or keys that sign them, in PEM or as a JWKS document: the first byte says which.
    static let keys = FuzzTarget(name: "keys") { input in
        guard let first = input.first else { return }
        let bytes = [UInt8](input.dropFirst())
        let text = String(decoding: bytes, as: UTF8.self)
        switch first % 5 {
        case 0:
            guard let token = UserToken(text) else { return }
            if let known { _ = token.isSigned(by: known) }
            let user = try? token.user(
                audience: "app", leewayMs: 60_000, nowMs: 1_700_000_000_000)
            require(user.map { !$0.isEmpty && $0.utf8.count <= 256 } ?? true, "a bad user")
        case 1:
            guard let keys = try? KeySet(text) else { return }
            require(!keys.entries.isEmpty, "a set without keys")
        case 2: _ = try? VerifyingKey(anyPEM: bytes)
        case 3:
            for certificate in Certificate.all(pem: bytes) { _ = certificate }
            _ = try? Certificate.read(der: bytes)
        default:
            guard let decoded = Base64.decode(text) else { return }
            require(Base64.decode(Base64.encode(decoded)) == decoded, "another decoding")
            require(Base64.decode(Base64.encode(decoded, url: true)) == decoded, "another decoding")
            if let hex = Hex.decode(text) { require(Hex.decode(Hex.encode(hex)) == hex, "hex") }
        }
    }

    private static let known = try? KeySet(
        #"{"keys":[{"kty":"EC","crv":"P-256","kid":"1","x":"MKBCTNIcKUSDii11ySs3526iDZ8AiTo7Tu6KPAqv7D4","y":"4Etl6SRW2YiLUrN5vfvVHuhp7x8PxltmWWlbbM4IFyM"}]}"#
    )
}
