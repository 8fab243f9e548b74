import Foundation
import Logging
import PluginRig
import Signalbox
import SignalboxCore
import SignalboxCrypto
import SignalboxJSON
import SignalboxSimulators
import Synchronization
import Testing

/// A route with an e-mail address among its devices: webhook in, mail out, everything settled.
@Suite(.timeLimit(.minutes(5))) struct SMTPFlowTests {
    /// A mail server with TLS and a login, and a gateway whose events name only users.
    struct Flow {
        let server: SMTPServer
        let registry: RegistryRig
        var rig: GatewayRig { registry.rig }

        init(script: @escaping @Sendable (SMTPServer.Moment) -> SMTPServer.Action = { _ in .usual })
            async throws
        {
            let authority = try ThrowAway.certificateAuthority(name: "mail")
            var options = SMTPServer.Options()
            options.identity = try ThrowAway.serverIdentity(authority: authority)
            options.offers.append("AUTH PLAIN")
            options.username = "box@example.com"
            options.password = "mail-secret"
            options.script = script
            let server = try SMTPServer(options)
            self.server = server
            let ca = try ProgramTests.temporary(
                "ca.pem", String(decoding: authority.certificatePEM, as: UTF8.self))
            registry = try await RegistryRig(
                set:
                    #"{ title: "Grüße", body: hello }, overrides: { smtp: { html: "<p>hello</p>" } }"#,
                plugins: Self.smtp(server.port, ca: ca), senders: ", email: smtp", drain: "300ms")
        }

        static func smtp(_ port: Int, ca: String) -> String {
            """
              smtp:
                library: SMTP
                config:
                  host: localhost
                  port: \(port)
                  ca_file: "\(ca)"
                  username: box@example.com
                  password: mail-secret
                  from: Signalbox <box@example.com>
                  subject_prefix: "[Box]"

            """
        }

        func mails(_ count: Int) async throws -> [SMTPServer.Mail] {
            try await until { server.mails.count >= count }
            return server.mails
        }

        func end() async {
            server.release()
            await rig.end()
            server.shutdown()
        }
    }

    @Test func `an event reaches a user's phone and mail address`() async throws {
        let flow = try await Flow()
        try await flow.registry.register("kim", "0a1b")
        try await flow.registry.register("kim", "kim@example.org", platform: "email")
        try await flow.registry.notify(["kim"])
        #expect(await flow.rig.delivered(flow.rig.simulators.apns, 1) == ["0a1b"])
        let mail = try #require(try await flow.mails(1).first)
        #expect(mail.isSecure && mail.to == "RCPT TO:<kim@example.org>")
        #expect(mail.wire.contains("\r\nSubject: =?UTF-8?B?W0JveF0gR3LDvMOfZQ==?=\r\n"))
        #expect(mail.wire.contains("<p>hello</p>") && mail.wire.contains("\r\nhello\r\n"))
        await flow.rig.gateway.stop()
        // Settled: a later start would send nothing again.
        let log = flow.rig.log.all
        #expect(log.count { $0.contains("delivered") && $0.contains("plugin.instance=smtp") } == 1)
        #expect(!log.description.contains("kim@") && !log.description.contains("mail-secret"))
        await flow.end()
    }

    @Test func `an address that the server calls unknown leaves the registry`() async throws {
        let flow = try await Flow {
            $0.line.contains("<gone@") ? .say("550 5.1.1 <gone@example.org>: no such user") : .usual
        }
        try await flow.registry.register("kim", "gone@example.org", platform: "email")
        try await flow.registry.register("kim", "kim@example.org", platform: "email")
        try await flow.registry.notify(["kim"])
        #expect(try await flow.mails(1).map(\.to) == ["RCPT TO:<kim@example.org>"])
        var step: JSONValue?
        for _ in 0..<6_000 where step == nil {
            let trace = try await flow.rig.json("/trace?user=kim")
            let people = trace["events"]?[0]?["recipients"]?.items ?? []
            step =
                people.first { $0["state"]?.string == "dead" && $0["sender"]?.string == "smtp" }?[
                    "steps"]?[0]
            if step == nil { try await Task.sleep(for: .milliseconds(20)) }
        }
        #expect(step?["reason"]?.string == "mailbox_unknown" && step?["code"]?.integer == 550)
        #expect(step?["detail"]?.string == "RCPT: 550 5.1.1")
        #expect(try await DeviceTests.tokens(flow.rig, "kim") == ["kim@example.org"])
        await flow.end()
    }

    /// The Message-IDs of mails.
    private static func ids(_ mails: [SMTPServer.Mail]) -> [Substring] {
        mails.compactMap { mail in
            mail.wire.split(separator: "\r\n").first { $0.hasPrefix("Message-ID: ") }
        }
    }

    @Test func `mails under way when the gateway stops leave at its next start, under the same id`()
        async throws
    {
        let isSeen = Atomic(false)
        let flow = try await Flow { moment in
            guard moment.line == "." else { return .usual }
            isSeen.store(true, ordering: .relaxed)
            return .stall
        }
        try await flow.registry.register("kim", "kim@example.org", platform: "email")
        for _ in 0..<5 { try await flow.registry.notify(["kim"]) }
        try await until { isSeen.load(ordering: .relaxed) }
        #expect(await flow.rig.gateway.stop() == 5)
        #expect(flow.server.mails.isEmpty)
        flow.server.release()
        let next = try await flow.rig.successor()
        // The previous server also delivers what it holds once it is released; ids
        // tell old from new mails.
        try await until { Set(Self.ids(flow.server.mails)).count >= 5 }
        #expect(await next.stop() == 0)
        #expect(Set(Self.ids(flow.server.mails)).count == 5)
        await flow.end()
    }
}
