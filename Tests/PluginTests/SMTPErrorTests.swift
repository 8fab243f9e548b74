import PluginRig
import SignalboxCore
import SignalboxJSON
import Testing

/// What a mail server's replies mean.
@Suite(.timeLimit(.minutes(15))) struct SMTPErrorTests {
    typealias Kind = SignalboxCore.Outcome.Kind
    typealias Scope = SignalboxCore.Outcome.Scope

    /// The place of a reply, the reply, and its meaning.
    struct Case: Sendable, CustomTestStringConvertible {
        var place: String
        var reply: String
        var kind: Kind
        var reason: String
        var scope: Scope = .item
        var waitMs: UInt64 = 0
        var testDescription: String { "\(place.isEmpty ? "greeting" : place): \(reply)" }
    }

    static let cases: [Case] = [
        // The greeting and EHLO.
        Case(
            place: "", reply: "421 busy", kind: .retry, reason: "server_unavailable",
            scope: .instance),
        Case(
            place: "", reply: "421 4.7.0 too many connections", kind: .throttled,
            reason: "throttled",
            scope: .instance, waitMs: 60_000),
        Case(
            place: "", reply: "450 4.3.2 later", kind: .retry, reason: "server_unavailable",
            scope: .instance),
        Case(
            place: "", reply: "554 5.7.1 blocked", kind: .config, reason: "client_refused",
            scope: .instance),
        Case(
            place: "EHLO", reply: "550 no", kind: .config, reason: "client_refused",
            scope: .instance),
        Case(
            place: "EHLO", reply: "451 4.7.1 slowly", kind: .throttled, reason: "throttled",
            scope: .instance,
            waitMs: 60_000),
        // The sender.
        Case(
            place: "MAIL", reply: "530 5.7.0 log in", kind: .config,
            reason: "authentication_required", scope: .instance),
        Case(
            place: "MAIL", reply: "550 not you", kind: .config, reason: "sender_refused",
            scope: .instance),
        Case(
            place: "MAIL", reply: "553 5.1.8 not you", kind: .config, reason: "sender_refused",
            scope: .instance),
        Case(
            place: "MAIL", reply: "501 5.1.7 bad", kind: .config, reason: "sender_refused",
            scope: .instance),
        Case(
            place: "MAIL", reply: "554 5.7.1 not you", kind: .config, reason: "sender_refused",
            scope: .instance),
        Case(
            place: "MAIL", reply: "552 5.3.4 too big", kind: .rejected, reason: "message_too_large"),
        Case(
            place: "MAIL", reply: "452 4.3.1 full", kind: .throttled, reason: "server_full",
            scope: .instance,
            waitMs: 60_000),
        Case(
            place: "MAIL", reply: "450 4.7.1 rate", kind: .throttled, reason: "throttled",
            scope: .instance,
            waitMs: 60_000),
        Case(place: "MAIL", reply: "451 4.3.0 oops", kind: .retry, reason: "temporary"),
        // The recipient: the enhanced status wins over the code.
        Case(
            place: "RCPT", reply: "550 5.1.1 no such user", kind: .unregistered,
            reason: "mailbox_unknown"),
        Case(
            place: "RCPT", reply: "554 5.1.1 no such user", kind: .unregistered,
            reason: "mailbox_unknown"),
        Case(
            place: "RCPT",
            reply: "550-5.1.1 no such user,\r\n550-5.1.1 you@example.org\r\n550 5.1.1 end",
            kind: .unregistered, reason: "mailbox_unknown"),
        Case(
            place: "RCPT", reply: "550 5.1.2 no such domain", kind: .unregistered,
            reason: "domain_unknown"),
        Case(place: "RCPT", reply: "551 5.1.6 moved", kind: .unregistered, reason: "mailbox_moved"),
        Case(
            place: "RCPT", reply: "556 5.1.10 null MX", kind: .unregistered,
            reason: "domain_takes_no_mail"),
        Case(
            place: "RCPT", reply: "556 null MX", kind: .unregistered, reason: "domain_takes_no_mail"
        ),
        // Only a clear statement about the mailbox removes an address.
        Case(place: "RCPT", reply: "550 rejected", kind: .rejected, reason: "recipient_refused"),
        Case(place: "RCPT", reply: "550 5.1.100 odd", kind: .rejected, reason: "recipient_refused"),
        Case(
            place: "RCPT", reply: "550 5.1.1000 odd", kind: .rejected, reason: "recipient_refused"),
        Case(place: "RCPT", reply: "550 5.1.1x odd", kind: .rejected, reason: "recipient_refused"),
        Case(
            place: "RCPT", reply: "550 4.1.1 contradiction", kind: .rejected,
            reason: "recipient_refused"),
        Case(place: "RCPT", reply: "550 5.7.1 relay denied", kind: .rejected, reason: "policy"),
        Case(
            place: "RCPT", reply: "550 5.2.1 disabled", kind: .rejected, reason: "mailbox_disabled"),
        Case(place: "RCPT", reply: "552 5.2.2 full", kind: .rejected, reason: "mailbox_full"),
        Case(place: "RCPT", reply: "552 full", kind: .rejected, reason: "mailbox_full"),
        Case(place: "RCPT", reply: "501 5.1.3 syntax", kind: .rejected, reason: "address_refused"),
        Case(place: "RCPT", reply: "553 syntax", kind: .rejected, reason: "address_refused"),
        Case(
            place: "RCPT", reply: "450 busy", kind: .throttled, reason: "mailbox_busy",
            waitMs: 60_000),
        Case(
            place: "RCPT", reply: "450 4.2.0 greylisted", kind: .throttled, reason: "mailbox_busy",
            waitMs: 60_000),
        Case(
            place: "RCPT", reply: "451 4.7.1 greylisted", kind: .throttled, reason: "throttled",
            waitMs: 60_000),
        Case(
            place: "RCPT", reply: "452 4.2.2 full", kind: .throttled, reason: "mailbox_full",
            waitMs: 60_000),
        Case(
            place: "RCPT", reply: "452 4.5.3 too many", kind: .throttled, reason: "throttled",
            waitMs: 60_000),
        Case(place: "RCPT", reply: "451 oops", kind: .retry, reason: "temporary"),
        Case(
            place: "RCPT", reply: "421 4.3.2 going down", kind: .retry,
            reason: "server_unavailable", scope: .instance),
        // The message.
        Case(place: "DATA", reply: "451 oops", kind: .retry, reason: "temporary"),
        Case(place: "DATA", reply: "554 no", kind: .rejected, reason: "content_refused"),
        Case(
            place: ".", reply: "550 5.6.0 bad content", kind: .rejected, reason: "content_refused"),
        Case(place: ".", reply: "554 5.7.1 spam", kind: .rejected, reason: "policy"),
        Case(place: ".", reply: "552 too big", kind: .rejected, reason: "message_too_large"),
        Case(
            place: ".", reply: "554 5.6.7 no SMTPUTF8", kind: .rejected,
            reason: "smtputf8_unsupported"),
        Case(
            place: ".", reply: "550 5.1.1 no such user", kind: .unregistered,
            reason: "mailbox_unknown"),
        Case(
            place: ".", reply: "452 4.3.1 full", kind: .throttled, reason: "server_full",
            waitMs: 60_000),
        Case(
            place: ".", reply: "451 4.7.1 later", kind: .throttled, reason: "throttled",
            waitMs: 60_000),
        Case(place: ".", reply: "500 what", kind: .rejected, reason: "refused"),
        // Replies that are out of place.
        Case(place: "DATA", reply: "250 fine", kind: .retry, reason: "protocol"),
        Case(place: "RCPT", reply: "354 go", kind: .retry, reason: "protocol"),
    ]

    @Test(arguments: cases)
    func `what a reply means`(one: Case) async throws {
        var options = SMTPServer.Options()
        options.script = {
            $0.connection == 1
                && (one.place == $0.line || (!one.place.isEmpty && $0.line.hasPrefix(one.place)))
                ? .say(one.reply) : .usual
        }
        let rig = try await SMTPRig(options)
        let outcome = try await rig.send()
        #expect(outcome.kind == one.kind && outcome.reason == one.reason)
        #expect(outcome.scope == one.scope && outcome.retryAfterMs == one.waitMs)
        #expect(outcome.providerCode == UInt32(one.reply.prefix(3)))
        #expect(outcome.detail.hasPrefix(one.place == "." ? "end of data: " : one.place))
        // Only our own text, never the server's.
        let words = outcome.detail + rig.services.lines.description
        #expect(!words.contains("you@") && !words.contains("no such") && !words.contains("busy"))
        #expect(rig.server.mails.isEmpty)
        await rig.end()
    }

    @Test(arguments: [
        ("535 5.7.8 no", Kind.auth, "credentials_refused"),
        ("535 no", .auth, "credentials_refused"),
        ("534 5.7.9 too weak", .config, "login_refused"),
        ("538 5.7.11 encrypt", .config, "login_refused"),
        ("504 what", .config, "login_refused"), ("454 4.7.0 later", .retry, "login_unavailable"),
        ("334 and", .retry, "protocol"),
    ])
    func `what an answer to a login means`(reply: String, kind: Kind, reason: String) async throws {
        var options = SMTPServer.Options()
        options.offers = ["AUTH PLAIN"]
        options.script = { $0.line.hasPrefix("AUTH") ? .say(reply) : .usual }
        let rig = try await SMTPRig(options, config: SMTPSessionTests.login, password: "pw")
        let outcome = try await rig.send()
        #expect(outcome.kind == kind && outcome.reason == reason)
        #expect(outcome.scope == (reason == "protocol" ? .item : .instance))
        #expect(rig.server.lines.allSatisfy { !$0.hasPrefix("MAIL") })
        await rig.end()
    }

    @Test(arguments: [("454 4.7.0 later", Kind.retry), ("502 no", .config)])
    func `what an answer to STARTTLS means`(reply: String, kind: Kind) async throws {
        let options = try SMTPSessionTests.secure {
            $0.script = { $0.line == "STARTTLS" ? .say(reply) : .usual }
        }
        let rig = try await SMTPRig(options, config: SMTPSessionTests.starttls)
        let outcome = try await rig.send()
        #expect(
            outcome.kind == kind && outcome.reason == "tls_refused" && outcome.scope == .instance)
        await rig.end()
    }

    @Test func `a server that hangs up on a message is heard before`() async throws {
        var options = SMTPServer.Options()
        options.offers = ["PIPELINING"]
        options.script = {
            $0.line == "DATA" ? .sayAndHangUp("354 go\r\n552 5.3.4 too big") : .usual
        }
        let rig = try await SMTPRig(options)
        let outcome = try await rig.send(
            SMTPRig.delivery { $0.body = String(repeating: "x", count: 1_000_000) })
        // The system may have dropped the reply together with the connection.
        #expect(outcome.reason == "message_too_large" || outcome.reason == "lost")
        await rig.end()
    }
}
