import SignalboxCore
import SignalboxCrypto
import Testing

@testable import Signalbox
@testable import SignalboxGateway

@Suite struct UserTokenTests {
    /// 2026-01-01, in seconds.
    private static let now: UInt64 = 1_767_225_600

    private func token(_ claims: String, header: String = #"{"alg":"ES256"}"#) -> String {
        [header, claims, "signature"].map { Base64.encode(Array($0.utf8), url: true) }
            .joined(separator: ".")
    }

    /// The user, or why there is none.
    private func user(_ claims: String, header: String = #"{"alg":"ES256"}"#) -> String? {
        guard let token = UserToken(token(claims, header: header)) else { return nil }
        do throws(UserToken.Refusal) {
            return try token.user(audience: "app", leewayMs: 60_000, nowMs: Self.now * 1_000)
        } catch {
            return error.words
        }
    }

    @Test(arguments: [
        (#"{"aud":"app","sub":"u-1","exp":1767225601}"#, "u-1"),
        (#"{"aud":["x","app"],"sub":"u-1","exp":1767225601.5}"#, "u-1"),
        (#"{"aud":"app","sub":"u-1","exp":1767225541}"#, "u-1"),
        (#"{"aud":"app","sub":"u-1","exp":1767225540}"#, "the token has expired"),
        (#"{"aud":"app","sub":"u-1","exp":"1767225601"}"#, "exp is not a number"),
        (#"{"aud":"app","sub":"u-1"}"#, "exp is missing"),
        (#"{"aud":"app","sub":"u-1","exp":1767229200,"nbf":"1767225661"}"#, "nbf is not a number"),
        (#"{"aud":"app","sub":"u-1","exp":1767229200,"iat":true}"#, "iat is not a number"),
        (#"{"aud":"app","sub":"a\u0000b","exp":1767229200}"#, "sub has a control character"),
        (#"{"aud":"app","sub":"u-1","exp":null}"#, "exp is not a number"),
        (#"{"aud":"app","sub":"u-1","exp":1767229200,"nbf":1767225660}"#, "u-1"),
        (
            #"{"aud":"app","sub":"u-1","exp":1767229200,"nbf":1767225661}"#,
            "the token is not valid yet"
        ),
        (
            #"{"aud":"app","sub":"u-1","exp":1767229200,"iat":1767225661}"#,
            "the token was issued in the future"
        ),
        (#"{"aud":"apple","sub":"u-1","exp":1767229200}"#, "the token is for another audience"),
        (#"{"sub":"u-1","exp":1767229200}"#, "the token is for another audience"),
        (#"{"aud":"app","exp":1767229200}"#, "sub must be a text of 1 to 256 bytes"),
        (#"{"aud":"app","sub":"","exp":1767229200}"#, "sub must be a text of 1 to 256 bytes"),
        (#"{"aud":"app","sub":7,"exp":1767229200}"#, "sub must be a text of 1 to 256 bytes"),
    ])
    func `claims are checked to the second`(claims: String, result: String) {
        #expect(user(claims) == result)
    }

    @Test func `a header field that must be understood and is not makes a token unusable`() {
        let claims = #"{"aud":"app","sub":"u-1","exp":1767229200}"#
        #expect(
            user(claims, header: #"{"alg":"ES256","crit":["b64"],"b64":false}"#)
                == "the token has critical header fields that are not supported")
    }

    @Test(arguments: [
        "", "a.b", "a.b.c.d", "..", "e30.e30", "W10.e30.AA", "e30.W10.AA", "e30.e3.AA",
    ])
    func `what is no token is none`(text: String) {
        #expect(UserToken(text) == nil)
    }

    @Test func `a token beyond 16 KiB is not read`() {
        #expect(UserToken(token(#"{"a":"\#(String(repeating: "a", count: 20_000))"}"#)) == nil)
    }

    @Test func `the key decides about the algorithm, and the kid about the key`() throws {
        let key = try ThrowAway.p256Key()
        let other = try ThrowAway.p256Key()
        let keys = try KeySet(String(decoding: key.publicKeyPEM(), as: UTF8.self))
        func signed(_ header: String, by key: SigningKey) throws -> UserToken? {
            let text = [header, "{}"].map { Base64.encode(Array($0.utf8), url: true) }
                .joined(separator: ".")
            let signature = try key.signES256(Array(text.utf8))
            return UserToken("\(text).\(Base64.encode(signature, url: true))")
        }
        #expect(try signed(#"{"alg":"ES256"}"#, by: key)?.isSigned(by: keys) == true)
        // A PEM key has no kid, so it is tried on every token.
        #expect(try signed(#"{"alg":"ES256","kid":"7"}"#, by: key)?.isSigned(by: keys) == true)
        #expect(try signed(#"{"alg":"ES256"}"#, by: other)?.isSigned(by: keys) == false)
        for algorithm in ["none", "HS256", "RS256", "ES384", ""] {
            let token = try signed(#"{"alg":"\#(algorithm)"}"#, by: key)
            #expect(token?.isSigned(by: keys) == false, "\(algorithm)")
        }
    }
}
