import Foundation
import PluginRig
import SignalboxCore
import SignalboxCrypto
import SignalboxHTTP
import SignalboxJSON
import SignalboxSimulators
import Synchronization
import Testing

/// A brand's login: keys, tokens, and a token endpoint that exchanges each code once.
final class BrandLogin: Sendable {
    let api: VendorAPI
    let rsa: SigningKey
    let ec: SigningKey

    static func start(publishesRSA: Bool = true) async throws -> BrandLogin {
        let (rsa, ec) = (try ThrowAway.rsaKey(), try ThrowAway.p256Key())
        let used = Shared()
        let jwks = try Self.jwks(publishesRSA ? rsa : nil, ec)
        let api = try await VendorAPI.start { request in
            if request.path == "/jwks" { return jwks }
            let body = String(decoding: request.body, as: UTF8.self)
            guard request.path == "/token", body.contains("grant_type=authorization_code"),
                body.contains("client_id=signalbox"), body.contains("code_verifier=verifier-1"),
                body.contains("redirect_uri=app%3A%2F%2Fcb"),
                let code = body.split(separator: "&").first(where: { $0.hasPrefix("code=") }),
                code.hasPrefix("code=good"), used.insert(String(code)),
                let token = try? Self.token(
                    ec, "ES256", user: "kim",
                    claims: [
                        ("aud", .string(code.contains("good-other") ? "another" : "signalbox"))
                    ])
            else { return HTTPServerAnswer(status: 400) }
            if code.contains("late"), used.insert("first \(code)") {
                used.remove(String(code))
                return HTTPServerAnswer(status: 503)
            }
            return .json(["id_token": .string(token)])
        }
        return BrandLogin(api: api, rsa: rsa, ec: ec)
    }

    private init(api: VendorAPI, rsa: SigningKey, ec: SigningKey) {
        self.api = api
        self.rsa = rsa
        self.ec = ec
    }

    private final class Shared: Sendable {
        private let codes = Mutex<Set<String>>([])
        func insert(_ code: String) -> Bool { codes.withLock { $0.insert(code).inserted } }
        func remove(_ code: String) { codes.withLock { _ = $0.remove(code) } }
    }

    /// The numbers of a public key, from its DER.
    private static func jwks(_ rsa: SigningKey?, _ ec: SigningKey) throws -> HTTPServerAnswer {
        func der(_ key: SigningKey) throws -> [UInt8] {
            let text = String(decoding: try key.publicKeyPEM(), as: UTF8.self)
            let lines = text.split(separator: "\n").filter { !$0.hasPrefix("-----") }
            return Base64.decode(lines.joined()) ?? []
        }
        func url(_ bytes: some Sequence<UInt8>) -> JSONValue {
            .string(Base64.encode(bytes, url: true))
        }
        let point = try der(ec).suffix(64)
        var keys: [JSONValue] = [
            [
                "kty": "EC", "crv": "P-256", "kid": "ec-1", "use": "sig",
                "x": url(point.prefix(32)), "y": url(point.suffix(32)),
            ], ["kty": "oct", "k": "AAAA"],
        ]
        if let rsa {
            // ... 00 n(256) 02 03 01 00 01
            let bytes = try der(rsa)
            keys.append(
                [
                    "kty": "RSA", "kid": "rsa-1", "n": url(bytes.dropLast(5).suffix(256)),
                    "e": url(bytes.suffix(3)),
                ])
        }
        return .json(["keys": .array(keys)])
    }

    static func token(
        _ key: SigningKey, _ algorithm: String, kid: String? = nil, user: String = "kim",
        claims: [(String, JSONValue)] = []
    ) throws -> String {
        let now = Int64(Date().timeIntervalSince1970)
        var all: [(String, JSONValue)] = [
            ("iss", .string("https://login.example")), ("sub", .string(user)),
            ("exp", .integer(now + 600)), ("iat", .integer(now)), ("aud", .string("signalbox")),
        ]
        for claim in claims {
            all.removeAll { $0.0 == claim.0 }
            if claim.1 != .null { all.append(claim) }
        }
        var header = [JSONValue.Member("alg", .string(algorithm))]
        if let kid { header.append(.init("kid", .string(kid))) }
        let text =
            Base64.encode(Array(JSONValue.object(header).text.utf8), url: true) + "."
            + Base64.encode(
                Array(JSONValue.object(all.map { .init($0.0, $0.1) }).text.utf8), url: true)
        let data = Array(text.utf8)
        let signature =
            algorithm == "RS256" ? try key.signRS256(data) : try key.signES256(data)
        return text + "." + Base64.encode(signature, url: true)
    }
}

/// LivePerson's document: login, registration, pushes, logout, links.
@Suite(.timeLimit(.minutes(5))) struct LivePersonFlowTests {
    static let fingerprint = Array(repeating: "AB", count: 32).joined(separator: ":")

    static func rig(
        _ login: BrandLogin, yaml: ((String) -> String)? = nil
    ) async throws -> ExampleRig {
        try await ExampleRig(
            "liveperson",
            variables: [
                "LIVEPERSON_USER": "lp", "LIVEPERSON_PASSWORD": "pw", "LIVEPERSON_HEADER": "h1",
                "LIVEPERSON_BRAND_ID": "acc", "LOGIN_ISSUER": "https://login.example",
                "LOGIN_JWKS_URL": "\(login.api.origin)/jwks",
                "LOGIN_TOKEN_URL": "\(login.api.origin)/token", "ANDROID_FINGERPRINT": fingerprint,
            ], yaml: yaml)
    }

    static let proxy = [
        ("authorization", "Basic " + Base64.encode(Array("lp:pw".utf8))), ("x-push-key", "h1"),
    ]

    static func device(_ token: String, _ platform: String) -> String {
        #"{"token":"\#(token)","platform":"\#(platform)"}"#
    }

    static func bearer(_ token: String) -> [(String, String)] {
        [("authorization", "Bearer \(token)")]
    }

    @Test func `login with a JWT, pushes on both platforms, logout by agent and by all`()
        async throws
    {
        let login = try await BrandLogin.start()
        let rig = try await Self.rig(login)
        let body = try PluginRig.fixture("LivePerson/ios.json")

        // Nobody may push to the device before it is registered.
        try await rig.expect(403, "POST", "/in/liveperson", body, headers: Self.proxy)
        let token = try BrandLogin.token(login.rsa, "RS256", kid: "rsa-1")
        for (name, platform) in [("<0a1B 2c>", "ios"), ("fcm:Token-1", "android")] {
            try await rig.expect(
                200, "POST", "/v1/devices", Self.device(name, platform), headers: Self.bearer(token)
            )
        }
        // The proxy writes a token as it likes.
        let respelled = body.replacing("0a1b2c", with: "<0A1B 2C>")
        try await rig.expect(200, "POST", "/in/liveperson", respelled, headers: Self.proxy)
        let apple = try await rig.push(rig.simulators.apns, to: "0a1b2c")
        #expect(
            apple.body["aps"]?.text
                == #"{"alert":"Agent: hello","sound":"default","badge":1,"thread-id":"c-1"}"#
                || apple.body["aps"]?["alert"]?.string == "Agent: hello")
        #expect(apple.body["aps"]?["badge"]?.integer == 1)
        #expect(apple.body["brandId"]?.string == "acc")
        #expect(apple.body["device-token"] == nil && apple.body["push-service"] == nil)
        #expect(apple.body["link"]?.string == "https://example.com/support/c-1")
        let android = try PluginRig.fixture("LivePerson/android.json")
        _ = try await rig.call("POST", "/in/liveperson", android, headers: Self.proxy)
        let google = try await rig.push(rig.simulators.fcm, to: "fcm:Token-1")
        let data = try #require(google.body["message"]?["data"])
        #expect(data["message"]?.string == "Agent: hello")
        #expect(data["payload"]?.string?.contains(#""brandId":"acc""#) == true)
        #expect(data["link"]?.string == "example://support/c-1")

        // The proxy sends again after no answer: one push.
        _ = try await rig.call("POST", "/in/liveperson", respelled, headers: Self.proxy)

        // After the logout "agent", proactive pushes continue.
        let (_, before, _) = try await rig.call("GET", "/v1/devices", headers: Self.bearer(token))
        let since = before["devices"]?[0]?["registered_unix_ms"]
        let (muted, answer, _) = try await rig.call(
            "DELETE", "/v1/devices?unregister=agent", headers: Self.bearer(token))
        #expect(muted == 200 && answer["muted"]?.integer == 2)
        let (_, still, _) = try await rig.call("GET", "/v1/devices", headers: Self.bearer(token))
        #expect(still["devices"]?[0]?["attributes"]?["muted"]?.string == "agent")
        #expect(still["devices"]?[0]?["registered_unix_ms"] == since)
        let later = body.replacing(#""sequence":3"#, with: #""sequence":4"#)
        let (silent, _, _) = try await rig.call(
            "POST", "/in/liveperson", later, headers: Self.proxy)
        #expect(silent == 403)
        let proactive = body.replacing(#""ams""#, with: #""prmsg""#).replacing(
            #""sequence":3"#, with: #""sequence":5"#)
        try await rig.expect(200, "POST", "/in/liveperson", proactive, headers: Self.proxy)
        // "none" changes nothing, "all" removes the device.
        let none = try await rig.expect(
            200, "DELETE", "/v1/devices?unregister=none", headers: Self.bearer(token))
        #expect(none["removed"]?.integer == 0)
        let all = try await rig.expect(
            200, "DELETE", "/v1/devices?unregister=all", headers: Self.bearer(token))
        #expect(all["removed"]?.integer == 2)
        try await rig.expect(
            403, "POST", "/in/liveperson", proactive.replacing(":5", with: ":6"),
            headers: Self.proxy)
        try await until { rig.simulators.apns.received.count >= 2 }
        #expect(rig.simulators.apns.received.count == 2)
        #expect(!rig.log.all.contains { $0.contains(token) })
        for (path, words) in [
            ("/.well-known/apple-app-site-association", "TEAMID1234.com.example.app"),
            ("/.well-known/assetlinks.json", Self.fingerprint),
        ] {
            let (status, _, answer) = try await rig.call("GET", path)
            #expect(status == 200)
            #expect(String(decoding: answer.body, as: UTF8.self).contains(words))
        }
        await rig.end()
        await login.api.shutdown()
    }

    @Test func `the example answers its README's curl, with the simulators' login`() async throws {
        let rig = try await ExampleRig(
            "liveperson",
            variables: [
                "LIVEPERSON_USER": "lp", "LIVEPERSON_PASSWORD": "pw", "LIVEPERSON_HEADER": "h1",
                "LIVEPERSON_BRAND_ID": "acc", "ANDROID_FINGERPRINT": Self.fingerprint,
            ])
        let readme = try String(
            contentsOf: PluginRig.root.appending(path: "Plugins/LivePerson/README.md"),
            encoding: .utf8)
        let bodies = readme.matches(of: #/-d '([^']+)'/#).map { String($0.1) }
        try #require(bodies.count == 2)
        let issuer = try #require(rig.simulators.variables["LOGIN_ISSUER"])
        func ask(_ path: String) async throws -> String {
            let answer = try await rig.client.patient(RESTCall(method: "GET", url: issuer + path))
            #expect(answer.status == 200)
            return String(decoding: answer.body.dropLast(), as: UTF8.self)
        }
        let token = try await ask("/token?user=kim")
        try await rig.expect(200, "POST", "/v1/devices", bodies[0], headers: Self.bearer(token))
        try await rig.expect(200, "POST", "/in/liveperson", bodies[1], headers: Self.proxy)
        _ = try await rig.push(rig.simulators.apns, to: "0a1b2c")
        // A code with PKCE, once: the challenge of RFC 7636, appendix B.
        let code = try await ask(
            "/code?user=eve&redirect_uri=app%3A%2F%2Fcb&code_challenge=E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM"
        )
        for (verifier, status) in [
            ("dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk", 200 as UInt32),
            ("dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk", 401),
        ] {
            let (got, _, _) = try await rig.call(
                "POST", "/v1/devices",
                #"{"token":"t2","platform":"ios","code":"\#(code)","code_verifier":"\#(verifier)","redirect_uri":"app://cb"}"#
            )
            #expect(got == status)
        }
        let other = try await ask("/code?user=eve&code_challenge=x")
        let (wrong, _, _) = try await rig.call(
            "POST", "/v1/devices",
            #"{"token":"t2","platform":"ios","code":"\#(other)","code_verifier":"v"}"#)
        #expect(wrong == 401)
        await rig.end()
    }

    @Test func `an authorization code is exchanged once`() async throws {
        let login = try await BrandLogin.start()
        let rig = try await Self.rig(login)
        func register(_ code: String, verifier: String = "verifier-1") async throws -> UInt32 {
            try await rig.call(
                "POST", "/v1/devices",
                """
                {"token":"t1","platform":"ios","code":"\(code)","code_verifier":"\(verifier)","redirect_uri":"app://cb"}
                """
            ).status
        }
        #expect(try await register("good-1") == 200)
        #expect(login.api.requests.filter { $0.path == "/token" }.count == 1)
        // The same code is refused without another request.
        #expect(try await register("good-1") == 401)
        #expect(login.api.requests.filter { $0.path == "/token" }.count == 1)
        #expect(try await register("good-2", verifier: "wrong") == 401)
        #expect(try await register("bad") == 401)
        #expect(try await register("good-3") == 200)
        // An id_token that was made for another client of the same login.
        #expect(try await register("good-other") == 401)
        // One whose exchange failed for now may be sent again.
        for status in [503, 200, 401] as [UInt32] {
            #expect(try await register("good-late") == status)
        }
        let token = try BrandLogin.token(login.ec, "ES256", kid: "ec-1")
        let (_, list, _) = try await rig.call("GET", "/v1/devices", headers: Self.bearer(token))
        #expect(list["devices"]?[0]?["user"]?.string == "kim")
        await rig.end()
        await login.api.shutdown()
    }

    @Test func `with one_device the last login counts`() async throws {
        let login = try await BrandLogin.start()
        let rig = try await Self.rig(login) {
            $0.replacing(
                "    - name: customers\n",
                with: "    - name: customers\n      one_device: true\n")
        }
        let token = try BrandLogin.token(login.rsa, "RS256", kid: "rsa-1")
        let other = try BrandLogin.token(login.rsa, "RS256", kid: "rsa-1", user: "eve")
        for (device, user) in [("t0", other), ("t1", token), ("t2", token), ("t2", token)] {
            let (status, _, _) = try await rig.call(
                "POST", "/v1/devices", Self.device(device, "ios"), headers: Self.bearer(user))
            #expect(status == 200)
        }
        for (user, tokens) in [(token, ["t2"]), (other, ["t0"])] {
            let (_, list, _) = try await rig.call("GET", "/v1/devices", headers: Self.bearer(user))
            guard case .array(let devices) = list["devices"] else { continue }
            #expect(devices.compactMap { $0["token"]?.string }.sorted() == tokens)
        }
        await rig.end()
        await login.api.shutdown()
    }

    /// Anybody may send codes; each would spend the client's secret at the brand's endpoint.
    @Test func `an address that sends too many authorization codes is told to wait`()
        async throws
    {
        let login = try await BrandLogin.start()
        let rig = try await Self.rig(login) {
            $0.replacing("gateway:\n", with: "gateway:\n  limits: { code_rate: 1 }\n")
        }
        var statuses: [UInt32] = []
        var waits: [String] = []
        // Two at once, and one a second: thirty codes take less than twenty seconds.
        for number in 0..<30 {
            let (status, _, answer) = try await rig.call(
                "POST", "/v1/devices",
                #"{"token":"t1","platform":"ios","code":"bad-\#(number)","code_verifier":"v"}"#)
            statuses.append(status)
            if status == 429 { waits.append(answer.header("retry-after") ?? "") }
        }
        #expect(statuses.prefix(2) == [401, 401])
        #expect(Set(statuses) == [401, 429])
        #expect(!waits.isEmpty && waits.allSatisfy { $0 == "1" })
        #expect(
            login.api.requests.filter { $0.path == "/token" }.count
                == statuses.filter { $0 == 401 }.count)
        #expect(
            rig.gateway.metricsText.contains(
                #"signalbox_limit_reached_total{listener="listen",limit="code_rate"} \#(waits.count)"#
            ))
        let line = rig.log.all.first { $0.contains("sends too many authorization codes") }
        #expect(line?.contains("key=gateway.limits.code_rate") == true)
        // A token of the login is not a code.
        let token = try BrandLogin.token(login.ec, "ES256", kid: "ec-1")
        let (status, _, _) = try await rig.call("GET", "/v1/devices", headers: Self.bearer(token))
        #expect(status == 200)
        await rig.end()
        await login.api.shutdown()
    }

    @Test func `only good tokens pass, and say why not`() async throws {
        let login = try await BrandLogin.start(publishesRSA: false)
        let rig = try await Self.rig(login)
        let other = try ThrowAway.p256Key()
        let now = Int64(Date().timeIntervalSince1970)
        func token(_ claims: [(String, JSONValue)]) throws -> String {
            try BrandLogin.token(login.ec, "ES256", kid: "ec-1", claims: claims)
        }
        let good = try token([])
        let none = Base64.encode(Array(#"{"alg":"none"}"#.utf8), url: true)
        let unsigned = "\(none).\(good.split(separator: ".")[1])."
        let rows: [(String, String)] = [
            (try token([("exp", .integer(now - 120))]), "expired"),
            (try token([("iss", .string("https://evil.example"))]), "issuer"),
            (try token([("iss", .null)]), "issuer"),
            (try BrandLogin.token(other, "ES256", kid: "ec-1"), "signature"),
            (try BrandLogin.token(other, "ES256", kid: "unknown"), "signature"),
            (try BrandLogin.token(login.rsa, "RS256", kid: "rsa-1"), "signature"),
            (unsigned, "signature"), ("x", "not a signed token"),
            // The same bytes in another spelling: a second token of its user.
            (Self.respelled(good), "not a signed token"),
            (try token([("aud", .string("another-client"))]), "another audience"),
            ("eyJhbGciOiJSU0EtT0FFUCJ9.a.b.c.d", "encrypted (JWE)"),
        ]
        for (token, words) in rows {
            let (status, json, answer) = try await rig.call(
                "POST", "/v1/devices", Self.device("t", "ios"), headers: Self.bearer(token))
            #expect(status == 401, "\(words)")
            #expect(json["detail"]?.string?.contains(words) == true, "\(words): \(json.text)")
            #expect(answer.header("www-authenticate") == "Bearer")
        }
        // Unknown keys are not requested again and again.
        #expect(login.api.requests.filter { $0.path == "/jwks" }.count == 1)
        try await rig.expect(
            200, "POST", "/v1/devices", Self.device("t", "ios"), headers: Self.bearer(good))
        await rig.end()
        await login.api.shutdown()
    }

    /// A signature of 64 bytes ends with four bits that say nothing.
    private static func respelled(_ token: String) -> String {
        let alphabet = Array("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_")
        let index = token.last.flatMap(alphabet.firstIndex) ?? 0
        return token.dropLast() + String(alphabet[index ^ 1])
    }

    @Test func `an outage of the issuer locks nobody out for a day`() async throws {
        let login = try await BrandLogin.start()
        let clock = StillClock()
        let origin = login.api.origin
        let rig = try await GatewayRig(
            clock: { clock.now },
            config: {
                GatewayRig.plugins($0) + """

                    devices:
                      users:
                        - { name: u, app: a, issuer: "https://login.example", audience: signalbox, jwks_url: "\(origin)/jwks" }

                    """ + GatewayRig.routes
            })
        let lasting = [
            ("exp", JSONValue.integer(Int64(Date().timeIntervalSince1970) + 500_000))
        ]
        func status(_ token: String) async throws -> UInt32 {
            try await DeviceTests.call(
                rig, "POST", "/v1/devices", Self.device("0a1b", "ios"), token: token
            ).status
        }
        let known = try BrandLogin.token(login.ec, "ES256", kid: "ec-1", claims: lasting)
        let foreign = try BrandLogin.token(
            ThrowAway.p256Key(), "ES256", kid: "ec-1", claims: lasting)
        #expect(try await status(known) == 200)
        await login.api.shutdown()
        clock.advance(ms: 700_000)
        #expect(try await status(known) == 200)
        // Keys that cannot be had are our trouble, and are not requested for every token.
        for _ in 0..<3 { #expect(try await status(foreign) == 503) }
        #expect(
            rig.log.all.count { $0.contains("failed to fetch the keys of users' tokens") } == 1)
        clock.advance(ms: 86_400_000)
        #expect(try await status(known) == 503)
        await rig.end()
    }

    @Test func `a user reaches no devices of others`() async throws {
        let login = try await BrandLogin.start()
        // What a platform is called says nothing: its sender does.
        let rig = try await Self.rig(login) { yaml in
            yaml.replacing(
                "\nplugins:\n",
                with: """

                    plugins:
                      chat:
                        library: Webhook
                        config: { url: "https://127.0.0.1:9/{{ token }}", format: slack }
                      service:
                        library: Webhook
                        config: { url: "https://127.0.0.1:9/{{ token }}" }

                    """
            ).replacing(
                "\nroutes:\n",
                with: """

                    routes:
                      - { name: wide, from: liveperson, send: { Letter: chat, own: service } }

                    """)
        }
        let (kim, eve) = (
            try BrandLogin.token(login.ec, "ES256", user: "kim"),
            try BrandLogin.token(login.ec, "ES256", user: "eve")
        )
        _ = try await rig.call(
            "POST", "/v1/devices", Self.device("t1", "ios"), headers: Self.bearer(kim))
        for (method, path, body) in [
            ("POST", "/v1/devices", #"{"token":"t2","platform":"ios","user":"kim"}"#),
            ("DELETE", "/v1/devices?user=kim", ""), ("DELETE", "/v1/devices?token=t1", ""),
            ("GET", "/v1/devices?user=kim", ""),
            ("PUT", "/v1/devices/presence", #"{"user":"kim","online":true}"#),
            ("PUT", "/v1/devices/badge", #"{"user":"kim","badge":0}"#),
            ("PUT", "/v1/devices/badge", #"{"token":"t1","badge":0}"#),
            // What is sent to her would go to everybody who has subscribed.
            ("POST", "/v1/devices", Self.device("topic:all", "android")),
            ("POST", "/v1/devices", Self.device("-1001234567890", "telegram")),
            ("POST", "/v1/devices", Self.device("ceo@company.example", "email")),
            ("POST", "/v1/devices", Self.device("named_user:ceo", "android")),
            ("POST", "/v1/devices", Self.device("channel:abc", "ios")),
            ("POST", "/v1/devices", Self.device("T/B/1", "letter")),
            ("POST", "/v1/devices", Self.device("T/B/1", "LETTER")),
            ("POST", "/v1/devices", Self.device("t2", "platform-of-nobody")),
            // Its source would be told that this one is dead.
            ("POST", "/v1/devices", #"{"token":"t9","platform":"ios","source_token":"t1"}"#),
        ] {
            try await rig.expect(403, method, path, body, headers: Self.bearer(eve))
        }
        let list = try await rig.expect(200, "GET", "/v1/devices", headers: Self.bearer(kim))
        #expect(list["devices"]?[0]?["token"]?.string == "t1")
        for body in [
            Self.device("mine", "own"),
            #"{"token":"0a1b","platform":"ios","source_token":"<0A1B>"}"#,
        ] {
            try await rig.expect(200, "POST", "/v1/devices", body, headers: Self.bearer(eve))
        }
        for body in [#"{"badge":0}"#, #"{"token":"t1","badge":3}"#] {
            let answer = try await rig.expect(
                200, "PUT", "/v1/devices/badge", body, headers: Self.bearer(kim))
            #expect(answer["updated"]?.integer == 1)
        }
        await rig.end()
        await login.api.shutdown()
    }

    @Test func `nobody silences the address of another user`() async throws {
        let login = try await BrandLogin.start()
        let rig = try await Self.rig(login) { yaml in
            yaml.replacing(
                "\nplugins:\n",
                with: """

                    plugins:
                      mail:
                        library: SMTP
                        config: { host: 127.0.0.1, from: "a@shop.example" }
                      crm:
                        library: Airship
                        config: { app_key: k, token: t, audience: named_user, endpoint: "https://127.0.0.1:9" }

                    """
            ).replacing(
                "\ndevices:\n",
                with: """

                    devices:
                      clients:
                        - { name: backend, token: token-of-backend-1, app: com.example.app, scopes: [read, write, presence, badge] }

                    """
            ).replacing(
                "\nroutes:\n",
                with: """

                    routes:
                      - { name: wide, from: liveperson, send: { email: mail, crm: crm, pad: apns } }

                    """)
        }
        let backend = Self.bearer("token-of-backend-1")
        let eve = Self.bearer(try BrandLogin.token(login.ec, "ES256", user: "eve"))
        let victim = [("email", "victim@example.com"), ("crm", "victim"), ("ios", "0a1b")]
        for (platform, token) in victim {
            try await rig.expect(
                200, "POST", "/v1/devices",
                #"{"user":"victim","token":"\#(token)","platform":"\#(platform)"}"#,
                headers: backend)
        }
        var answers: [String] = []
        for platform in ["email", "crm", "android", "ios", "pad", "elsewhere"] {
            for token in ["victim@example.com", "victim"] {
                let (status, _, _) = try await rig.call(
                    "POST", "/v1/devices", Self.device(token, platform), headers: eve)
                if status == 200 { answers.append("\(platform) \(token)") }
            }
        }
        // A word may be a phone's token there, and is another one than the victim's name.
        #expect(answers == ["android victim", "ios victim", "pad victim"])
        // Whether an address is known is not said.
        for token in ["victim@example.com", "nobody@example.com"] {
            let (status, answer, _) = try await rig.call(
                "DELETE", "/v1/devices?token=\(token)", headers: eve)
            #expect(status == 200 && answer["removed"]?.integer == 0)
        }
        func tokens() async throws -> [String] {
            let (_, list, _) = try await rig.call(
                "GET", "/v1/devices?user=victim", headers: backend)
            return (list["devices"]?.items ?? []).compactMap { $0["token"]?.string }.sorted()
        }
        #expect(try await tokens() == ["0a1b", "victim", "victim@example.com"])
        // The phone itself is hers by now, whatever name its platform has.
        let (status, _, _) = try await rig.call(
            "POST", "/v1/devices", Self.device("0a1b", "pad"), headers: eve)
        #expect(status == 200)
        #expect(try await tokens() == ["victim", "victim@example.com"])
        await rig.end()
        await login.api.shutdown()
    }

    @Test func `mutual TLS: the proxy's certificate opens the door, others do not`() async throws {
        let login = try await BrandLogin.start()
        let folder = FileManager.default.temporaryDirectory.appending(path: UUID().uuidString)
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        let authority = try ThrowAway.certificateAuthority(name: "brand")
        let clients = try ThrowAway.certificateAuthority(name: "LivePerson")
        let server = try ThrowAway.serverIdentity(authority: authority)
        func write(_ bytes: [UInt8], _ name: String) throws -> String {
            let file = folder.appending(path: name)
            try Data(bytes).write(to: file)
            return file.path
        }
        let files = (
            certificate: try write(server.certificatePEM, "tls.pem"),
            key: try write(server.privateKeyPEM, "tls.key"),
            clients: try write(clients.certificatePEM, "clients.pem"),
            authority: try write(authority.certificatePEM, "ca.pem")
        )
        let rig = try await Self.rig(
            login,
            yaml: {
                $0.replacing(
                    "\n\nplugins:",
                    with: """

                          tls:
                            certificate: "${file:\(files.certificate)}"
                            key: "${file:\(files.key)}"
                            client_ca: "${file:\(files.clients)}"

                        plugins:
                        """
                ).replacing(
                    "      registration: required",
                    with: "      client_certificates: [\"CN=proxy\"]\n      registration: ignored")
            })
        let body = try PluginRig.fixture("LivePerson/ios.json")
        func post(_ identity: ThrowAway.Identity?) async throws -> String {
            var arguments = [
                "curl", "-s", "-o", "/dev/null", "-w", "%{http_code}", "--cacert",
                files.authority, "-u", "lp:pw", "-H", "X-Push-Key: h1", "--data-binary", body,
                "https://127.0.0.1:\(rig.gateway.port)/in/liveperson",
            ]
            if let identity {
                let path = try write(
                    identity.certificatePEM + identity.privateKeyPEM, "\(UUID().uuidString).pem")
                arguments += ["--cert", path]
            }
            return try await Tool.run(arguments).output
        }
        let proxy = try ThrowAway.clientIdentity(name: "proxy", authority: clients)
        #expect(try await post(proxy) == "200")
        #expect(try await post(nil) == "401")
        let colleague = try ThrowAway.clientIdentity(name: "colleague", authority: clients)
        #expect(try await post(colleague) == "401")
        let forged = try ThrowAway.clientIdentity(name: "proxy", authority: authority)
        #expect(try await post(forged) == "000")
        _ = try await rig.push(rig.simulators.apns, to: "0a1b2c")
        await rig.end()
        await login.api.shutdown()
        try? FileManager.default.removeItem(at: folder)
    }
}
