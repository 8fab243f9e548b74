import Foundation
import PluginRig
import SignalboxCore
import SignalboxCrypto
import SignalboxPluginHost
import Testing

@Suite struct APNsCredentialTests {
    /// `SEQUENCE { "com.example.app", SEQUENCE { "app" }, "com.example.app.voip", SEQUENCE { "voip" } }`.
    static let topics = {
        func text(_ text: String) -> [UInt8] { [0x0C, UInt8(text.utf8.count)] + Array(text.utf8) }
        func list(_ body: [UInt8]) -> [UInt8] { [0x30, UInt8(body.count)] + body }
        let der = list(
            text("com.example.app") + list(text("app")) + text("com.example.app.voip")
                + list(text("voip")))
        return Hex.encode(der)
    }()

    static func identity(
        userID: String = "com.example.app", days: Int = 300, hasTopics: Bool = true
    ) throws -> ThrowAway.Identity {
        try ThrowAway.clientIdentity(
            name: "Apple Push Services: com.example.app", userID: userID, days: days,
            extensions: hasTopics ? [("1.2.840.113635.100.6.3.6", topics)] : [],
            authority: try ThrowAway.certificateAuthority(name: "test"))
    }

    /// An instance whose secrets come from files, as with `${file:...}`.
    static func rig(
        _ config: String, files: [String: [UInt8]], services: RigServices
    ) async throws -> (rig: SendRig, folder: URL) {
        let folder = try Workshop.folder()
        for (name, bytes) in files { try Data(bytes).write(to: folder.appending(path: name)) }
        let rig = try await SendRig(
            "APNs", config: config, files: folder.path, services: services)
        return (rig, folder)
    }

    @Test(
        arguments: [
            (nil, false), (nil, true), ("", true), ("secret", false), ("secret", true),
        ] as [(String?, Bool)])
    func `a p12 file opens, with and without password, of old tools, too`(
        password: String?, isLegacy: Bool
    ) async throws {
        let identity = try Self.identity()
        let file = try ThrowAway.pkcs12(identity, password: password, isLegacy: isLegacy)
        let secret = password == "secret" ? #","certificate_password":"secret""# : ""
        let (rig, _) = try await Self.rig(
            #"{"certificate":"${file:push.p12}"\#(secret)}"#, files: ["push.p12": file],
            services: RigServices())
        let endpoint = try await rig.role.endpoint(app: "")
        let shown = try #require(endpoint.clientIdentity)
        let own = try Certificate.read(identity.certificatePEM, password: nil)
        #expect(try Certificate.read(shown.certificate, password: nil).subject == own.subject)
        #expect(
            try SigningKey(pem: shown.key).publicKeyPEM()
                == SigningKey(pem: identity.privateKeyPEM).publicKeyPEM())
        #expect(!endpoint.isOneStreamFirst)
        await rig.end()
    }

    @Test func `a wrong password is refused with its place`() async throws {
        let file = try ThrowAway.pkcs12(try Self.identity(), password: "right", isLegacy: false)
        for more in ["", #","certificate_password":"wrong-one""#] {
            let fault = await #expect(throws: PluginFault.self) {
                _ = try await Self.rig(
                    #"{"certificate":"${file:push.p12}"\#(more)}"#, files: ["push.p12": file],
                    services: RigServices())
            }
            let words = fault?.message ?? ""
            #expect(words.contains("config.certificate: "))
            #expect(words.contains(more.isEmpty ? "needs a password" : "does not open"))
            #expect(!words.contains("wrong-one"))
        }
    }

    @Test func `PEM in one file or two logs in without a token`() async throws {
        let identity = try Self.identity()
        let both = identity.certificatePEM + identity.privateKeyPEM
        for (config, files) in [
            (#"{"certificate":"${file:all.pem}"}"#, ["all.pem": both]),
            (
                #"{"certificate":"${file:c.pem}","certificate_key":"${file:k.pem}"}"#,
                ["c.pem": identity.certificatePEM, "k.pem": identity.privateKeyPEM]
            ),
        ] {
            let (rig, _) = try await Self.rig(config, files: files, services: RigServices())
            #expect(try await rig.role.endpoint(app: "").clientIdentity != nil)
            let request = try await rig.render { $0.body = "b" }
            #expect(request.headers["authorization"] == nil)
            #expect(request.headers["apns-topic"] == "com.example.app")
            let location = SendRig.note { $0.pushType = "location" }
            let (_, settled) = try await rig.prepare([SendRig.delivery(1, location)])
            #expect(settled.first?.reason == "push_type_needs_token_auth")
            await rig.end()
        }
    }

    @Test func `topics come from the certificate`() async throws {
        let identity = try Self.identity()
        let both = identity.certificatePEM + identity.privateKeyPEM
        let (rig, _) = try await Self.rig(
            #"{"certificate":"${file:all.pem}"}"#, files: ["all.pem": both],
            services: RigServices())
        let voip = try await rig.render {
            $0.pushType = "voip"
            $0.body = "b"
        }
        #expect(voip.headers["apns-topic"] == "com.example.app.voip")
        // Not in the certificate's list.
        let other = SendRig.note { $0.pushType = "complication" }
        let (_, settled) = try await rig.prepare([SendRig.delivery(1, other)])
        #expect(settled.first?.reason == "topic_not_in_certificate")
        await #expect(throws: PluginFault.self) { try await rig.role.endpoint(app: "com.other") }
        await rig.end()

        let fault = await #expect(throws: PluginFault.self) {
            _ = try await Self.rig(
                #"{"certificate":"${file:all.pem}","topic":"com.other"}"#,
                files: ["all.pem": both], services: RigServices())
        }
        #expect(fault?.message.contains("is for com.example.app") == true)
    }

    @Test func `an older certificate names its topic in the UID`() async throws {
        let identity = try Self.identity(userID: "com.example.old", hasTopics: false)
        let (rig, _) = try await Self.rig(
            #"{"certificate":"${file:all.pem}"}"#,
            files: ["all.pem": identity.certificatePEM + identity.privateKeyPEM],
            services: RigServices())
        let request = try await rig.render { $0.body = "b" }
        #expect(request.headers["apns-topic"] == "com.example.old")
        await rig.end()
    }

    @Test func `the end of a certificate is a metric and a warning`() async throws {
        let services = RigServices()
        let identity = try Self.identity(days: 10)
        let (rig, folder) = try await Self.rig(
            #"{"certificate":"${file:all.pem}"}"#,
            files: ["all.pem": identity.certificatePEM + identity.privateKeyPEM],
            services: services)
        let end = try Certificate.read(identity.certificatePEM, password: nil).notAfterUnixS
        #expect(services.counts["certificate_expires_unix_seconds"] == end)
        #expect(services.lines.contains { $0.contains("the certificate expires soon") })
        // With a new file the metric follows, and the endpoint gets the new certificate.
        let next = try Self.identity(days: 200)
        let later = try Certificate.read(next.certificatePEM, password: nil).notAfterUnixS
        try Data(next.certificatePEM + next.privateKeyPEM).write(
            to: folder.appending(path: "all.pem"))
        await services.waitFor { services.counts["certificate_expires_unix_seconds"] == later }
        #expect(services.counts["certificate_expires_unix_seconds"] == later)
        let shown = try #require(try await rig.role.endpoint(app: "").clientIdentity)
        #expect(try Certificate.read(shown.certificate, password: nil).notAfterUnixS == later)
        await rig.end()
    }

    @Test func `a new p8 file makes a new token at once`() async throws {
        let (first, second) = (try ThrowAway.p256Key(), try ThrowAway.p256Key())
        let services = RigServices()
        let (rig, folder) = try await Self.rig(
            #"{"topic":"a.b","team_id":"T","key_id":"K","key":"${file:k.p8}"}"#,
            files: ["k.p8": try first.privateKeyPEM()], services: services)
        func isSigned(by key: SigningKey) async throws -> Bool {
            let bearer = try #require(
                try await rig.render { $0.body = "b" }.headers["authorization"])
            let parts = bearer.dropFirst(7).split(separator: ".").map { String($0) }
            let signature = try #require(Base64.decode(parts[2]))
            return try VerifyingKey(pem: key.publicKeyPEM()).verifyES256(
                signature, data: Array("\(parts[0]).\(parts[1])".utf8))
        }
        #expect(try await isSigned(by: first))
        try Data(try second.privateKeyPEM()).write(to: folder.appending(path: "k.p8"))
        await services.waitFor {
            services.lines.contains { $0.contains("a secret file has changed") }
        }
        for _ in 0..<10_000 where try await !isSigned(by: second) { await Task.yield() }
        #expect(try await isSigned(by: second))
        await rig.end()
    }

    @Test func `apps of one instance have credentials and origins of their own`() async throws {
        let key = String(decoding: try ThrowAway.p256Key().privateKeyPEM(), as: UTF8.self)
        let identity = try Self.identity()
        let (rig, _) = try await Self.rig(
            #"""
            {"apps":[
              {"topic":"com.one","team_id":"TEAM000001","key_id":"KEY0000001","key":"${file:k.p8}"},
              {"topic":"com.two","team_id":"TEAM000002","key_id":"KEY0000002","key":"${file:k.p8}",
               "environment":"development"},
              {"certificate":"${file:all.pem}"}]}
            """#,
            files: [
                "k.p8": Array(key.utf8),
                "all.pem": identity.certificatePEM + identity.privateKeyPEM,
            ], services: RigServices())
        let hosts = [
            "": "api.push.apple.com", "com.one": "api.push.apple.com",
            "com.two": "api.sandbox.push.apple.com",
            "com.example.app": "api.sandbox.push.apple.com",
        ]
        for (app, host) in hosts where app != "com.example.app" {
            #expect(try await rig.role.endpoint(app: app).origin == "https://\(host):443")
        }
        #expect(try await rig.role.endpoint(app: "com.one").clientIdentity == nil)
        #expect(try await rig.role.endpoint(app: "com.example.app").clientIdentity != nil)
        // Apple wants a connection for each team.
        #expect(try await !rig.role.endpoint(app: "com.one").isShared)
        let note = SendRig.note { $0.body = "b" }
        var issuers: [String] = []
        for app in ["com.one", "com.two"] {
            let (requests, _) = try await rig.prepare(app: app, [SendRig.delivery(1, note)])
            let bearer = try #require(requests.first?.headers["authorization"])
            let claims = try #require(Base64.decode(bearer.split(separator: ".")[1]))
            issuers.append(String(decoding: claims, as: UTF8.self))
            #expect(requests.first?.headers["apns-topic"] == app)
        }
        #expect(issuers[0].contains("TEAM000001") && issuers[1].contains("TEAM000002"))
        await rig.end()
    }

    @Test func `one topic in two accounts is refused`() async throws {
        let key = try ThrowAway.p256Key().privateKeyPEM()
        let fault = await #expect(throws: PluginFault.self) {
            _ = try await Self.rig(
                #"""
                {"apps":[{"topic":"a.b","team_id":"T","key_id":"K","key":"${file:k.p8}"},
                 {"topic":"a.b","team_id":"T","key_id":"K","key":"${file:k.p8}"}]}
                """#, files: ["k.p8": key], services: RigServices())
        }
        #expect(fault?.message.contains("a.b is named twice") == true)
    }
}
