import Foundation
import PluginRig
import SignalboxCore
import SignalboxJSON
import Testing

/// How the SMTP plugin turns notifications into mails.
@Suite(.timeLimit(.minutes(15))) struct SMTPMessageTests {
    @Test func `a notification becomes a mail`() async throws {
        let rig = try await SMTPRig()
        let message = try await rig.mail(
            SMTPRig.delivery {
                $0.title = "Ticket 5"
                $0.subtitle = "Anna replied"
                $0.body = "Hello,\nit works.\r\nAnna"
                $0.link = "https://example.com/5"
            })
        #expect(
            message.mail.wire
                == """
                Date: Sun, 01 Mar 2026 12:34:56 +0000
                To: you@example.org
                Message-ID: <00000000-0000-4000-8000-000000000001@example.com>
                From: "Signalbox"
                 <box@example.com>
                Subject: Ticket 5
                Auto-Submitted: auto-generated
                MIME-Version: 1.0
                Content-Type: text/plain; charset=utf-8
                Content-Transfer-Encoding: 7bit

                Anna replied

                Hello,
                it works.
                Anna

                https://example.com/5

                """.replacing("\n", with: "\r\n"))
        #expect(
            message.mail.from == "MAIL FROM:<box@example.com> SIZE=\(message.mail.wire.utf8.count)")
        #expect(message.mail.to == "RCPT TO:<you@example.org>")
        await rig.end()
    }

    @Test(arguments: [
        "plain", "Grüße aus Wien", "日本語の長い件名がここにあって、七十六文字より長くなるはずです。本当に。",
        String(repeating: "long words ", count: 30).trimmingCharacters(in: .whitespaces),
        String(repeating: "x", count: 500), "looks =?UTF-8?B?ZW5jb2RlZA==?= but is not",
        "👩‍👩‍👧‍👦🇦🇹 family",
        String(repeating: "ü", count: 100),
    ])
    func `a subject of any kind is read as it was written`(subject: String) async throws {
        let rig = try await SMTPRig(config: [("subject_prefix", .string("[Box]"))])
        let message = try await rig.mail(SMTPRig.delivery { $0.title = subject })
        #expect(message.words("subject") == "[Box] " + subject)
        for line in message.mail.wire.components(separatedBy: "\r\n") {
            #expect(line.utf8.count <= 78 && line.utf8.allSatisfy { $0 < 0x80 && $0 >= 0x20 })
        }
        await rig.end()
    }

    @Test(arguments: [
        ("short lines\nof ASCII\n", "7bit"), ("tab\tand = signs", "7bit"),
        (
            "Schöne Grüße, und ein langer Absatz, der umgebrochen wird, weil er viel zu lang ist.",
            "quoted-printable"
        ),
        (String(repeating: "ASCII without an end ", count: 100), "quoted-printable"),
        ("ends in spaces  \nand = and\ttab\t\nü", "quoted-printable"),
        (String(repeating: "=", count: 200) + "é", "quoted-printable"),
        ("日本語の本文です。\nもう一行。", "base64"), (String(repeating: "ж", count: 5_000), "base64"),
        (".\n..\n.hidden\nü.", "quoted-printable"), (".\n..\n.hidden\n.", "7bit"),
        ("a lone \r carriage return, a null \u{0} and a bell \u{7}", "7bit"),
    ])
    func `a body of any kind is read as it was written`(body: String, encoding: String) async throws
    {
        let rig = try await SMTPRig()
        let message = try await rig.mail(
            SMTPRig.delivery {
                $0.title = "T"; $0.body = body
            })
        #expect(message.headers["content-transfer-encoding"] == encoding)
        let lines = body.replacing("\r", with: "\n").filter { $0 != "\u{0}" && $0 != "\u{7}" }
        let wanted = lines.hasSuffix("\n") ? lines : lines + "\n"
        #expect(message.text.replacing("\r\n", with: "\n") == wanted)
        for line in message.mail.wire.components(separatedBy: "\r\n") {
            #expect(line.utf8.count <= 78 && !line.contains("\n") && !line.contains("\r"))
            #expect(line != "." && !(encoding == "quoted-printable" && line.hasSuffix(" ")))
        }
        await rig.end()
    }

    @Test func `lines that begin with a dot are stuffed on the wire, and only those`() async throws
    {
        let rig = try await SMTPRig()
        let message = try await rig.mail(
            SMTPRig.delivery {
                $0.title = "T"; $0.body = ".\n..a\nb.\n."
            })
        #expect(message.mail.wire.hasSuffix("\r\n\r\n..\r\n...a\r\nb.\r\n..\r\n"))
        #expect(message.text == ".\r\n..a\r\nb.\r\n.\r\n")
        await rig.end()
    }

    @Test(arguments: [
        "<p>Grüße</p>\n--=_signalbox\n.\n" + String(repeating: "<b>x</b>", count: 50),
        "<p>plain</p>\n--=_signalbox--\n",
    ])
    func `HTML comes beside the text, with a subject of its own`(html: String) async throws {
        let rig = try await SMTPRig()
        let message = try await rig.mail(
            SMTPRig.delivery {
                $0.title = "T"
                $0.body = "text\n--=_signalbox--\n"
                let json: JSONValue = ["subject": "Other", "html": .string(html)]
                $0.overrides = [
                    PayloadOverride(family: "apns", json: #"{"html":7}"#),
                    PayloadOverride(family: "smtp", json: json.text),
                ]
            })
        #expect(message.headers["subject"] == "Other")
        #expect(message.headers["content-type"]?.hasPrefix("multipart/alternative;") == true)
        let parts = message.parts
        try #require(parts.count == 2)
        #expect(parts[0].headers["content-type"] == "text/plain; charset=utf-8")
        #expect(parts[0].text == "text\r\n--=_signalbox--")
        #expect(parts[1].headers["content-type"] == "text/html; charset=utf-8")
        let wanted = html.hasSuffix("\n") ? String(html.dropLast()) : html
        #expect(parts[1].text == wanted.replacing("\n", with: "\r\n"))
        await rig.end()
    }

    @Test func `no field of a notification makes a header or a command`() async throws {
        let rig = try await SMTPRig()
        let evil = "x\r\nBcc: victim@example.org\r\n\r\n.\r\nMAIL FROM:<evil@example.org>\r\n"
        let message = try await rig.mail(
            SMTPRig.delivery(stableID: "id>\r\nX-Evil: 1") {
                $0.title = evil
                $0.subtitle = evil
                $0.body = evil
                $0.link = evil
                $0.overrides = [
                    PayloadOverride(
                        family: "smtp", json: JSONValue.object([.init("html", .string(evil))]).text)
                ]
            })
        #expect(Set(message.headers.keys) == Self.usual)
        #expect(
            message.words("subject") == "x Bcc: victim@example.org . MAIL FROM:<evil@example.org>")
        #expect(message.headers["message-id"] == "<id___X-Evil__1@example.com>")
        #expect(
            rig.server.lines.filter { $0.hasPrefix("MAIL") || $0.hasPrefix("RCPT") }.count == 2)
        #expect(rig.server.mails.count == 1)
        await rig.end()
    }

    static let usual: Set = [
        "date", "to", "message-id", "from", "subject", "auto-submitted", "mime-version",
        "content-type",
    ]

    @Test(arguments: [
        "", "you", "@example.org", "you@", "you@@example.org", "a b@example.org",
        "you@example.org>", "y>ou@example.org",
        "<you@example.org", "y<ou@example.org",
        "you@example.org\r\nRCPT TO:<x@y.z>", "you@example.org\nDATA", "<you@example.org>",
        "you@exa mple.org",
        "you@example.org> NOTIFY=SUCCESS", "you@-example.org", "you@example-.org",
        "you@example..org",
        ".you@example.org", "you.@example.org", "y..u@example.org", "you@example.org.",
        "\"a b\"@example.org",
        "you@[127.0.0.1]", "you,them@example.org", "you@example.org,them@example.org",
        "you@ex\u{0}ample.org",
        "you@example.org\u{85}x", "a:b@example.org", "a(c)@example.org", "you@under_score.org",
        String(repeating: "a", count: 65) + "@example.org",
        "a@" + String(repeating: "b", count: 64) + ".org",
        "a@" + String(repeating: "b.", count: 130) + "org",
    ])
    func `text that is no address reaches no server`(address: String) async throws {
        let rig = try await SMTPRig()
        let outcome = try await rig.send(SMTPRig.delivery(to: address))
        #expect(outcome.kind == .rejected && outcome.reason == "malformed_address")
        #expect(!outcome.detail.contains("@"))
        #expect(rig.server.lines.isEmpty)
        await rig.end()
    }

    @Test(arguments: [
        "a@b", "first.last+tag@sub.example.co.uk", "!#$%&'*+-/=?^_`{|}~@example.org", "1@2.example",
        "a@xn--bcher-kva.example", String(repeating: "a", count: 64) + "@example.org",
    ])
    func `unusual addresses are taken as they are`(address: String) async throws {
        let rig = try await SMTPRig()
        let message = try await rig.mail(SMTPRig.delivery(to: address))
        #expect(message.mail.to == "RCPT TO:<\(address)>" && message.headers["to"] == address)
        await rig.end()
    }

    @Test func `addresses beyond ASCII need a server that takes them`() async throws {
        let refusing = try await SMTPRig()
        let outcome = try await refusing.send(SMTPRig.delivery(to: "jürgen@bücher.example"))
        #expect(outcome.kind == .rejected && outcome.reason == "smtputf8_unsupported")
        #expect(refusing.server.lines.allSatisfy { !$0.hasPrefix("RCPT") })
        // An open connection stays so.
        _ = try await refusing.mail(SMTPRig.delivery(2))
        #expect(
            try await refusing.send(SMTPRig.delivery(3, to: "jürgen@bücher.example")).reason
                == "smtputf8_unsupported")
        _ = try await refusing.mail(SMTPRig.delivery(4))
        #expect(refusing.server.mails.map(\.connection) == [2, 2])
        await refusing.end()
        var options = SMTPServer.Options()
        options.offers.append("SMTPUTF8")
        let taking = try await SMTPRig(options)
        let message = try await taking.mail(SMTPRig.delivery(to: "jürgen@bücher.example"))
        #expect(message.mail.from.hasSuffix(" SMTPUTF8"))
        #expect(message.mail.to == "RCPT TO:<jürgen@bücher.example>")
        #expect(message.headers["to"] == "jürgen@bücher.example")
        let plain = try await taking.mail(SMTPRig.delivery(2))
        #expect(!plain.mail.from.contains("SMTPUTF8"))
        await taking.end()
    }

    @Test func `a mail cannot be taken back, and that is no failure`() async throws {
        let rig = try await SMTPRig()
        let outcome = try await rig.send(
            SMTPRig.delivery(1) {
                $0.isWithdrawn = true
                $0.collapse = "k"
            })
        #expect(outcome.kind == .delivered && outcome.reason == "nothing_to_take_back")
        await rig.end()
    }

    @Test(
        arguments: [
            (
                "nothing_to_show",
                { @Sendable in
                    $0.isSilent = true; $0.title = "T"
                }
            ),
            ("nothing_to_show", { @Sendable in $0.badge = 3 }),
            ("malformed_overrides", { @Sendable in Self.override("7", &$0) }),
            ("malformed_overrides", { @Sendable in Self.override(#"{"html":7}"#, &$0) }),
            ("malformed_overrides", { @Sendable in Self.override(#"{"subject":["a"]}"#, &$0) }),
            (
                "message_too_large",
                { @Sendable in $0.body = String(repeating: "x", count: 1_048_577) }
            ),
            (
                "message_too_large",
                { @Sendable in $0.body = String(repeating: "ж", count: 500_000) }
            ),
        ] as [(String, @Sendable (inout PushNotification) -> Void)])
    func `what cannot be a mail is refused at once`(
        reason: String, change: @Sendable (inout PushNotification) -> Void
    ) async throws {
        let rig = try await SMTPRig()
        let outcome = try await rig.send(SMTPRig.delivery(1, change))
        #expect(outcome.kind == .rejected && outcome.reason == reason && outcome.providerCode == 0)
        #expect(rig.server.connections == 0)
        await rig.end()
    }

    static func override(_ json: String, _ note: inout PushNotification) {
        note.title = "T"
        note.overrides = [PayloadOverride(family: "smtp", json: json)]
    }

    @Test func `a dry run asks for the recipient and sends nothing`() async throws {
        let rig = try await SMTPRig(
            .init { $0.line.contains("gone@") ? .say("550 5.1.1 no such user") : .usual })
        let good = try await rig.send(SMTPRig.delivery(1) { $0.isDryRun = true })
        #expect(good.kind == .delivered && good.reason == "recipient_accepted")
        let bad = try await rig.send(
            SMTPRig.delivery(2, to: "gone@example.org") { $0.isDryRun = true })
        #expect(bad.kind == .unregistered && bad.reason == "mailbox_unknown")
        _ = try await rig.mail(SMTPRig.delivery(3))
        #expect(rig.server.lines.filter { $0 == "DATA" }.count == 1)
        #expect(rig.server.mails.count == 1)
        await rig.end()
    }

    @Test func `senders are named as the config says`() async throws {
        let rig = try await SMTPRig(config: [
            ("from", .string("\"Müller & Söhne\" <büro@example.com>")),
            ("reply_to", .string("Say \"hi\" <reply@example.com>")),
        ])
        let refused = try await rig.send()
        #expect(refused.reason == "smtputf8_unsupported")
        await rig.end()
        let other = try await SMTPRig(config: [
            ("from", .string("\"Müller & Söhne\" <buero@example.com>")),
            ("reply_to", .string("Say \"hi\" <reply@example.com>")),
        ])
        let message = try await other.mail()
        #expect(message.words("from") == "Müller & Söhne <buero@example.com>")
        #expect(message.headers["reply-to"] == #""Say \"hi\"" <reply@example.com>"#)
        await other.end()
    }
}
