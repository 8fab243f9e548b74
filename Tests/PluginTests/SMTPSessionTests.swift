import Foundation
import PluginRig
import SignalboxCore
import SignalboxJSON
import SignalboxPluginHost
import Testing

/// How the SMTP plugin connects, logs in and reuses connections.
@Suite(.timeLimit(.minutes(15))) struct SMTPSessionTests {
    static let login: [(String, JSONValue)] = [
        ("username", .string("me@example.com")), ("password", .string("${file:password}")),
    ]

    static func secure(_ change: (inout SMTPServer.Options) -> Void = { _ in }) throws
        -> SMTPServer.Options
    {
        var options = SMTPServer.Options()
        options.identity = try SMTPRig.identity()
        change(&options)
        return options
    }

    static let starttls: [(String, JSONValue)] = [
        ("security", .string("starttls")), ("ca_file", .string("CA_FILE")),
    ]

    @Test func `STARTTLS comes before everything that is worth reading`() async throws {
        let rig = try await SMTPRig(try Self.secure(), config: Self.starttls)
        let message = try await rig.mail()
        #expect(message.mail.isSecure)
        #expect(
            rig.server.lines.map { $0.prefix { $0 != ":" } } == [
                "EHLO client.example", "STARTTLS", "EHLO client.example", "MAIL FROM", "RCPT TO",
                "DATA", ".",
            ])
        await rig.end()
    }

    @Test func `TLS from the first byte, by a name that has to be looked up`() async throws {
        let options = try Self.secure { $0.isTLSFirst = true }
        let rig = try await SMTPRig(
            options,
            config: [
                ("security", .string("tls")), ("ca_file", .string("CA_FILE")),
                ("host", .string("localhost")),
            ])
        #expect(try await rig.mail().mail.isSecure)
        #expect(!rig.server.lines.contains("STARTTLS"))
        await rig.end()
    }

    @Test(arguments: [
        ("127.0.0.1", "localhost", "127.0.0.2"), ("localhost", "other.example", "127.0.0.1"),
        ("localhost", "*.localhost", "127.0.0.1"), ("localhost", "localhost.evil.example", "::1"),
    ])
    func `a certificate for somebody else is not trusted`(
        host: String, name: String, address: String
    ) async throws {
        let options = try Self.secure {
            $0.identity = try? SMTPRig.identity(names: [name], addresses: [address])
        }
        let rig = try await SMTPRig(
            options, config: Self.starttls + [("host", .string(host))])
        let outcome = try await rig.send()
        #expect(outcome.kind == .retry && outcome.scope == .instance)
        #expect(outcome.reason == "tls_certificate")
        #expect(rig.server.lines.count == 2)
        await rig.end()
    }

    @Test func `a certificate of unknown roots is not trusted`() async throws {
        let rig = try await SMTPRig(
            try Self.secure(), config: [("security", .string("starttls"))])
        #expect(try await rig.send().reason == "tls_certificate")
        await rig.end()
    }

    @Test func `a server without STARTTLS gets nothing`() async throws {
        let rig = try await SMTPRig(config: Self.starttls)
        let outcome = try await rig.send()
        #expect(outcome.kind == .config && outcome.reason == "starttls_not_offered")
        #expect(outcome.scope == .instance)
        #expect(rig.server.lines == ["EHLO client.example"])
        await rig.end()
    }

    @Test func `replies slipped in before TLS are not believed`() async throws {
        let options = try Self.secure {
            $0.script = {
                $0.line == "STARTTLS" ? .say("220 go\r\n250-evil\r\n250 AUTH PLAIN") : .usual
            }
        }
        let rig = try await SMTPRig(options, config: Self.starttls + Self.login, password: "pw")
        let outcome = try await rig.send()
        #expect(outcome.kind == .retry && outcome.reason == "protocol")
        #expect(rig.server.logins == 0)
        await rig.end()
    }

    @Test func `what was offered before TLS is forgotten`() async throws {
        let options = try Self.secure {
            $0.offers = []
            $0.script = {
                $0.line.hasPrefix("EHLO") && !$0.isSecure
                    ? .say("250-x\r\n250-AUTH PLAIN\r\n250 STARTTLS") : .usual
            }
        }
        let rig = try await SMTPRig(options, config: Self.starttls + Self.login, password: "pw")
        let outcome = try await rig.send()
        #expect(outcome.kind == .config && outcome.reason == "login_not_offered")
        #expect(rig.server.logins == 0)
        await rig.end()
    }

    @Test(arguments: [["AUTH PLAIN LOGIN"], ["AUTH LOGIN XOAUTH2"], ["AUTH PLAIN CRAM-MD5"]])
    func `login by every way that is offered`(offers: [String]) async throws {
        let password = "pässword with spaces = and \u{1F511}" + String(repeating: "x", count: 200)
        let options = try Self.secure {
            $0.offers = offers
            $0.username = "me@example.com"
            $0.password = password
        }
        let rig = try await SMTPRig(
            options, config: Self.starttls + Self.login, password: password)
        _ = try await rig.mail()
        #expect(rig.server.logins == 1)
        #expect(!rig.services.lines.description.contains("sswor"))
        await rig.end()
    }

    @Test(arguments: ["OAUTHBEARER", "XOAUTH2"])
    func `a bearer token logs in, and a new one at once`(way: String) async throws {
        let options = try Self.secure {
            $0.offers = ["AUTH PLAIN \(way)"]
            $0.username = "me@example.com"
            $0.password = "second-token"
        }
        let config: [(String, JSONValue)] = [
            ("username", .string("me@example.com")), ("bearer_token", .string("${file:password}")),
        ]
        let rig = try await SMTPRig(
            options, config: Self.starttls + config, password: "first-token")
        let refused = try await rig.send()
        #expect(refused.kind == .auth && refused.reason == "credentials_refused")
        try await rig.change("second-token\n")
        _ = try await rig.mail(SMTPRig.delivery(2))
        #expect(rig.server.logins == 2 && rig.server.lines.contains("AUTH \(way)"))
        #expect(!rig.services.lines.description.contains("-token"))
        await rig.end()
    }

    static let oauth: [(String, JSONValue)] = [
        ("username", .string("me@example.com")),
        (
            "oauth",
            [
                "token_url": "https://login.example.com/token", "client_id": "a b",
                "scope": "https://x/.default", "client_secret": "${file:password}",
            ]
        ),
    ]

    @Test func `client credentials get one token for all connections`() async throws {
        let options = try Self.secure {
            $0.offers = ["AUTH XOAUTH2"]
            $0.username = "me@example.com"
            $0.password = "the-token"
            $0.script = { $0.line == "." ? .stall : .usual }
        }
        let services = RigServices(nowUnixMs: SMTPRig.now) { _ in
            let json = #"{"access_token":"the-token","expires_in":3600}"#
            return .success(PluginHTTPAnswer(status: 200, body: Array(json.utf8)))
        }
        let rig = try await SMTPRig(
            options, config: Self.starttls + Self.oauth + [("connections_max", .integer(2))],
            password: "s&cret\n", services: services)
        #expect(try rig.submit([SMTPRig.delivery(1), SMTPRig.delivery(2)]) == 2)
        await services.waitFor { rig.server.lines.count { $0 == "." } == 2 }
        rig.server.release()
        let outcomes = await rig.outcomes(2)
        #expect(
            outcomes.allSatisfy { $0.kind == .delivered },
            "\(outcomes.map(\.reason)) \(rig.server.lines) \(services.lines) \(services.calls.count)"
        )
        #expect(rig.server.logins == 2 && services.calls.count == 1)
        let form = String(decoding: try #require(services.calls.first).body, as: UTF8.self)
        #expect(
            form == "grant_type=client_credentials&client_id=a%20b&client_secret=s%26cret"
                + "&scope=https%3A%2F%2Fx%2F.default")
        await rig.end()
    }

    @Test(arguments: [
        (401, #"{"error":"invalid_client"}"#, "token_refused"), (503, "", "token_unavailable"),
        (200, #"{"access_token":"","expires_in":3600}"#, "token_unavailable"),
        (200, #"{"access_token":"the-token"}"#, "token_unavailable"),
    ])
    func `without a token nothing is sent`(status: UInt32, body: String, reason: String)
        async throws
    {
        let services = RigServices(nowUnixMs: SMTPRig.now) { _ in
            .success(PluginHTTPAnswer(status: status, body: Array(body.utf8)))
        }
        let rig = try await SMTPRig(
            try Self.secure(), config: Self.starttls + Self.oauth, password: "secret",
            services: services)
        let outcome = try await rig.send()
        #expect(outcome.kind == (status == 401 ? .auth : .retry) && outcome.reason == reason)
        #expect(outcome.scope == .instance && outcome.providerCode == status)
        #expect(outcome.detail == "the token endpoint answered \(status)")
        #expect(rig.server.connections == 0)
        await rig.end()
    }

    @Test func `a password that no login can carry is not sent`() async throws {
        let options = try Self.secure { $0.offers = ["AUTH PLAIN"] }
        let rig = try await SMTPRig(
            options, config: Self.starttls + Self.login, password: "first")
        try await rig.change("a\u{0}b")
        let outcome = try await rig.send()
        #expect(outcome.kind == .config && outcome.reason == "password_unusable")
        #expect(rig.server.logins == 0)
        await rig.end()
    }

    @Test func `a password that is too long is not taken over`() async throws {
        let options = try Self.secure { $0.offers = ["AUTH PLAIN"] }
        let rig = try await SMTPRig(
            options, config: Self.starttls + Self.login, password: "first")
        try Data(String(repeating: "x", count: 1_025).utf8)
            .write(to: rig.folder.appending(path: "password"))
        await rig.services.waitFor {
            rig.services.lines.contains { $0.contains("must be 1 to 1024 bytes long") }
        }
        // The previous one stays in use.
        _ = try await rig.send()
        #expect(rig.server.logins == 1)
        #expect(!rig.services.lines.contains { $0.contains("a secret file has changed") })
        await rig.end()
    }

    @Test func `a refused password is not tried again and again, and a new one at once`()
        async throws
    {
        let options = try Self.secure {
            $0.offers = ["AUTH PLAIN"]
            $0.username = "me@example.com"
            $0.password = "right"
        }
        let rig = try await SMTPRig(
            options, config: Self.starttls + Self.login + [("connections_max", .integer(4))],
            password: "wrong")
        let first = try await rig.send()
        #expect(
            first.kind == .auth && first.reason == "credentials_refused" && first.scope == .instance
        )
        #expect(first.providerCode == 535 && first.retryAfterMs == 30_000)
        #expect(first.detail == "AUTH: 535 5.7.8")
        let tried = rig.server.logins
        #expect(tried == 1)
        let taken = try rig.submit((2...30).map { SMTPRig.delivery($0) })
        #expect(taken == 29)
        #expect(await rig.outcomes(30).allSatisfy { $0.reason == "credentials_refused" })
        #expect(rig.server.logins == tried)
        try await rig.change("right")
        _ = try await rig.mail(SMTPRig.delivery(100))
        #expect(rig.server.logins == 2)
        let log = rig.services.lines.description
        #expect(!log.contains("wrong") && !log.contains("right") && !log.contains("you@"))
        await rig.end()
    }

    @Test func `a login in the clear reaches this machine alone`() async throws {
        let options = {
            var options = SMTPServer.Options(); options.offers = ["AUTH PLAIN"]
            options.username = "me@example.com"; options.password = "pw"; return options
        }()
        let rig = try await SMTPRig(options, config: Self.login, password: "pw")
        _ = try await rig.mail()
        await rig.end()
        for host in ["192.0.2.1", "mail.example.com", "127.0.0.1.example.com", "1270.example"] {
            await #expect(throws: PluginFault.self) {
                _ = try await SMTPRig(
                    config: Self.login + [("host", .string(host))], password: "pw")
            }
        }
    }

    @Test func `one connection carries many mails, and a refused recipient ends it`() async throws {
        let rig = try await SMTPRig(
            .init { $0.line.contains("<gone@") ? .say("550 5.1.1 no") : .usual })
        for id in 1...10 as ClosedRange<UInt64> {
            let address = id == 4 ? "gone@example.org" : "you@example.org"
            let outcome = try await rig.send(SMTPRig.delivery(id, to: address))
            #expect(outcome.kind == (id == 4 ? .unregistered : .delivered), "\(outcome.reason)")
        }
        #expect(rig.server.mails.map(\.connection) == [1, 1, 1, 2, 2, 2, 2, 2, 2])
        await rig.end()
        #expect(rig.server.lines.last == "QUIT")
    }

    @Test(arguments: ["close", "421"])
    func `a server that closes an idle connection loses no mail`(how: String) async throws {
        var options = SMTPServer.Options()
        options.script = { moment in
            guard moment.connection == 1 else { return .usual }
            // Ends before the second mail: by closing, or by a reply to the next command.
            if how == "close", moment.line == "." { return .sayAndHangUp("250 taken") }
            if how == "421", moment.line.contains("two@") { return .sayAndHangUp("421 4.4.2 idle") }
            return .usual
        }
        let rig = try await SMTPRig(options)
        #expect(try await rig.send(SMTPRig.delivery(1)).kind == .delivered)
        if how == "close" { await rig.services.waitFor { rig.server.openConnections == 0 } }
        #expect(
            try await rig.send(SMTPRig.delivery(2, to: "two@example.org")).kind == .delivered)
        #expect(rig.server.connections == 2)
        await rig.end()
    }

    @Test(arguments: ["", "EHLO", "MAIL", "RCPT", "DATA", "."])
    func `a server that hangs up in the middle has the mail tried again later`(place: String)
        async throws
    {
        let rig = try await SMTPRig(
            .init {
                place == $0.line || (!place.isEmpty && $0.line.hasPrefix(place)) ? .hangUp : .usual
            })
        let outcome = try await rig.send()
        #expect(outcome.kind == .retry && outcome.reason == "lost" && outcome.providerCode == 0)
        #expect(rig.server.connections == 1)
        await rig.end()
    }

    @Test(arguments: ["", "EHLO", "STARTTLS", "AUTH", "MAIL", "RCPT", "DATA", "."])
    func `a server that says nothing more holds nobody up`(place: String) async throws {
        let options = try Self.secure {
            $0.offers = ["AUTH PLAIN"]
            $0.username = "me@example.com"
            $0.password = "pw"
            $0.script = {
                place == $0.line || (!place.isEmpty && $0.line.hasPrefix(place)) ? .stall : .usual
            }
        }
        let rig = try await SMTPRig(
            options, config: Self.starttls + Self.login + [("timeout_ms", .integer(150))],
            password: "pw")
        let outcome = try await rig.send()
        #expect(outcome.kind == .retry && outcome.reason == "timeout")
        rig.server.release()
        await rig.end()
    }

    @Test(arguments: [
        "hello", "2", "999 what", "250-one\r\n251 two", "250\tx", "HTTP/1.1 400 Bad Request", "",
    ])
    func `malformed replies are rejected`(text: String) async throws {
        let rig = try await SMTPRig(.init { $0.line == "" ? .say(text) : .usual })
        let outcome = try await rig.send()
        #expect(outcome.kind == .retry && outcome.reason == "protocol")
        await rig.end()
    }

    @Test func `a reply without an end is given up`() async throws {
        var options = SMTPServer.Options()
        // The reply does end, but too late.
        let long = String(repeating: "220-and so on\r\n", count: 5_000) + "220 there"
        options.script = { $0.line == "" ? .say(long) : .usual }
        let rig = try await SMTPRig(options)
        #expect(try await rig.send().reason == "protocol")
        await rig.end()
    }

    @Test func `a server of before EHLO is spoken to in its own way`() async throws {
        let rig = try await SMTPRig(.init { $0.line.hasPrefix("EHLO") ? .say("500 what") : .usual })
        let message = try await rig.mail()
        #expect(message.mail.from == "MAIL FROM:<box@example.com>")
        #expect(rig.server.lines.contains("HELO client.example"))
        await rig.end()
    }

    @Test func `a port where nobody listens is said to be out of reach`() async throws {
        let rig = try await SMTPRig()
        rig.server.shutdown()
        await rig.services.waitFor { !rig.server.isListening }
        let outcome = try await rig.send()
        #expect(
            outcome.kind == .retry && outcome.reason == "unreachable" && outcome.scope == .instance)
        #expect(outcome.detail == "connection refused")
        await rig.end()
    }

    @Test func `this machine is named by its address if it has no name`() async throws {
        let rig = try await SMTPRig(config: [("helo", .string(""))])
        _ = try await rig.mail()
        let hello = try #require(rig.server.lines.first?.dropFirst(5))
        let name = ProcessInfo.processInfo.hostName
        #expect(
            (hello.hasPrefix("[") && hello.hasSuffix("]")) || (name.contains(".") && hello == name),
            "\(hello)")
        await rig.end()
    }
}
