internal import SignalboxCore
internal import SignalboxCrypto
internal import SignalboxHTTP
internal import SignalboxJSON
internal import SignalboxThreads
internal import Synchronization

/// A brand's login, for users who register their own devices: keys, tokens, and authorization codes with PKCE.
///
/// It signs in any user by name, without a password.
final class LoginSimulator: Sendable {
    static let clientID = "signalbox"
    static let paths = ["jwks", "token", "code"]
    private static let codesMax = 1_000

    /// A code that was not exchanged yet.
    private struct Code {
        var user: String
        var challenge: String
        var redirectURI: String
    }

    private struct State {
        var codes: [String: Code] = [:]
        var count = 0
    }

    private let key: SigningKey
    private let jwks: JSONValue
    private let clock: @Sendable () -> UInt64
    private let state = Mutex(State())

    init(clock: @escaping @Sendable () -> UInt64) throws(CryptoError) {
        let key = try ThrowAway.p256Key()
        self.key = key
        self.clock = clock
        // The last 64 bytes of the key's DER are its point.
        let pem = String(decoding: try key.publicKeyPEM(), as: UTF8.self)
        let lines = pem.split(separator: "\n").filter { !$0.hasPrefix("-----") }
        let point = (Base64.decode(lines.joined()) ?? []).suffix(64)
        func text(_ bytes: some Sequence<UInt8>) -> JSONValue {
            .string(Base64.encode(bytes, url: true))
        }
        let one: JSONValue = [
            "kty": "EC", "crv": "P-256", "kid": "sim-1", "use": "sig", "alg": "ES256",
            "x": text(point.prefix(32)), "y": text(point.suffix(32)),
        ]
        jwks = ["keys": [one]]
    }

    /// Answers a request under `/login/`; `issuer` is the login's own address.
    func answer(
        _ request: HTTPServerRequest, _ what: Substring, issuer: String
    ) -> HTTPServerAnswer {
        let isForm = request.method == "POST"
        let given = FormFields(
            isForm ? String(decoding: request.body, as: UTF8.self) : request.query)
        switch (request.method, what) {
        case ("GET", "jwks"): return .json(jwks)
        case ("GET", "token"): return text(token(given["user"] ?? "u-42", issuer))
        case ("GET", "code"): return text(code(for: given))
        case ("POST", "token"): return exchange(given, issuer)
        default: return Problem.methodNotAllowed(what == "token" ? ["GET", "POST"] : ["GET"])
        }
    }

    private func text(_ text: String?) -> HTTPServerAnswer {
        guard let text else { return Problem(500, "the token cannot be signed").answer }
        return HTTPServerAnswer(
            status: 200, headers: [Attribute("content-type", "text/plain")],
            body: Array("\(text)\n".utf8))
    }

    /// A signed token of a user, valid for ten minutes.
    private func token(_ user: String, _ issuer: String) -> String? {
        let now = Int64(clock() / 1000)
        let header: JSONValue = ["alg": "ES256", "kid": "sim-1"]
        let claims: JSONValue = [
            "iss": .string(issuer), "sub": .string(user), "aud": .string(Self.clientID),
            "iat": .integer(now), "exp": .integer(now + 600),
        ]
        let signed = [header, claims].map { Base64.encode(Array($0.text.utf8), url: true) }
            .joined(separator: ".")
        guard let signature = try? key.signES256(Array(signed.utf8)) else { return nil }
        return signed + "." + Base64.encode(signature, url: true)
    }

    private func code(for given: FormFields) -> String {
        let code = Code(
            user: given["user"] ?? "u-42", challenge: given["code_challenge"] ?? "",
            redirectURI: given["redirect_uri"] ?? "")
        return state.withLock { state in
            if state.codes.count >= Self.codesMax { state.codes = [:] }
            state.count += 1
            let name = "code-\(state.count)"
            state.codes[name] = code
            return name
        }
    }

    /// `POST /login/token`: each code once, with the verifier of its challenge.
    private func exchange(_ given: FormFields, _ issuer: String) -> HTTPServerAnswer {
        guard given["grant_type"] == "authorization_code", given["client_id"] == Self.clientID
        else { return Self.refusal("invalid_request") }
        let code = state.withLock { $0.codes.removeValue(forKey: given["code"] ?? "") }
        let digest = Digest.sha256(Array((given["code_verifier"] ?? "").utf8))
        guard let code, code.redirectURI == given["redirect_uri"] ?? "",
            code.challenge.isEmpty || code.challenge == Base64.encode(digest, url: true),
            let token = token(code.user, issuer)
        else { return Self.refusal("invalid_grant") }
        return .json(
            ["id_token": .string(token), "token_type": "Bearer", "expires_in": 600])
    }

    private static func refusal(_ error: String) -> HTTPServerAnswer {
        .json(["error": .string(error)], status: 400)
    }
}

/// Names and values of a query or a form.
private struct FormFields {
    private var fields: [String: String] = [:]

    init(_ text: String) {
        for pair in text.split(separator: "&") {
            let parts = pair.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
            guard parts.count == 2 else { continue }
            fields[Self.decoded(parts[0])] = Self.decoded(parts[1])
        }
    }

    subscript(name: String) -> String? { fields[name].flatMap { $0.isEmpty ? nil : $0 } }

    private static func decoded(_ text: Substring) -> String {
        var out: [UInt8] = []
        var rest = Array(text.utf8)[...]
        while let byte = rest.popFirst() {
            let digits = String(decoding: rest.prefix(2), as: UTF8.self)
            if byte == UInt8(ascii: "%"), digits.utf8.count == 2,
                let value = UInt8(digits, radix: 16)
            {
                out.append(value)
                rest = rest.dropFirst(2)
            } else {
                out.append(byte == UInt8(ascii: "+") ? 0x20 : byte)
            }
        }
        return String(decoding: out, as: UTF8.self)
    }
}
