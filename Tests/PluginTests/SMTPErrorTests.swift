import PluginRig
import SignalboxCore
import Testing

/// What a mail server's replies mean.
@Suite(.timeLimit(.minutes(15))) struct SMTPErrorTests {
    /// The command, the reply, and its meaning. The enhanced status wins over the code, and only a clear statement
    /// about the mailbox removes an address. The last replies of a command are out of place.
    static let cases = #"""
        greeting | 421 busy | retry | server_unavailable | instance
        greeting | 421 4.7.0 too many connections | throttled | throttled | instance
        greeting | 450 4.3.2 later | retry | server_unavailable | instance
        greeting | 554 5.7.1 blocked | config | client_refused | instance
        EHLO | 550 no | config | client_refused | instance
        EHLO | 451 4.7.1 slowly | throttled | throttled | instance
        STARTTLS | 454 4.7.0 later | retry | tls_refused | instance
        STARTTLS | 502 no | config | tls_refused | instance
        AUTH | 535 5.7.8 no | auth | credentials_refused | instance
        AUTH | 535 no | auth | credentials_refused | instance
        AUTH | 534 5.7.9 too weak | config | login_refused | instance
        AUTH | 538 5.7.11 encrypt | config | login_refused | instance
        AUTH | 504 what | config | login_refused | instance
        AUTH | 454 4.7.0 later | retry | login_unavailable | instance
        MAIL | 530 5.7.0 log in | config | authentication_required | instance
        MAIL | 550 not you | config | sender_refused | instance
        MAIL | 553 5.1.8 not you | config | sender_refused | instance
        MAIL | 501 5.1.7 bad | config | sender_refused | instance
        MAIL | 554 5.7.1 not you | config | sender_refused | instance
        MAIL | 552 5.3.4 too big | rejected | message_too_large
        MAIL | 452 4.3.1 full | throttled | server_full | instance
        MAIL | 450 4.7.1 rate | throttled | throttled | instance
        MAIL | 451 4.3.0 oops | retry | temporary
        RCPT | 550 5.1.1 no such user | unregistered | mailbox_unknown
        RCPT | 554 5.1.1 no such user | unregistered | mailbox_unknown
        RCPT | 550-5.1.1 no such user,\r\n550-5.1.1 you@example.org\r\n550 5.1.1 end | unregistered | mailbox_unknown
        RCPT | 550 5.1.2 no such domain | unregistered | domain_unknown
        RCPT | 551 5.1.6 moved | unregistered | mailbox_moved
        RCPT | 556 5.1.10 null MX | unregistered | domain_takes_no_mail
        RCPT | 556 null MX | unregistered | domain_takes_no_mail
        RCPT | 550 rejected | rejected | recipient_refused
        RCPT | 550 5.1.100 odd | rejected | recipient_refused
        RCPT | 550 5.1.1000 odd | rejected | recipient_refused
        RCPT | 550 5.1.1x odd | rejected | recipient_refused
        RCPT | 550 4.1.1 contradiction | rejected | recipient_refused
        RCPT | 550 5.7.1 relay denied | rejected | policy
        RCPT | 550 5.2.1 disabled | rejected | mailbox_disabled
        RCPT | 552 5.2.2 full | rejected | mailbox_full
        RCPT | 552 full | rejected | mailbox_full
        RCPT | 501 5.1.3 syntax | rejected | address_refused
        RCPT | 553 syntax | rejected | address_refused
        RCPT | 450 busy | throttled | mailbox_busy
        RCPT | 450 4.2.0 greylisted | throttled | mailbox_busy
        RCPT | 451 4.7.1 greylisted | throttled | throttled
        RCPT | 452 4.2.2 full | throttled | mailbox_full
        RCPT | 452 4.5.3 too many | throttled | throttled
        RCPT | 451 oops | retry | temporary
        RCPT | 421 4.3.2 going down | retry | server_unavailable | instance
        DATA | 451 oops | retry | temporary
        DATA | 554 no | rejected | content_refused
        . | 550 5.6.0 bad content | rejected | content_refused
        . | 554 5.7.1 spam | rejected | policy
        . | 552 too big | rejected | message_too_large
        . | 554 5.6.7 no SMTPUTF8 | rejected | smtputf8_unsupported
        . | 550 5.1.1 no such user | unregistered | mailbox_unknown
        . | 452 4.3.1 full | throttled | server_full
        . | 451 4.7.1 later | throttled | throttled
        . | 500 what | rejected | refused
        DATA | 250 fine | retry | protocol
        RCPT | 354 go | retry | protocol
        """#.split(separator: "\n").map { $0.components(separatedBy: " | ") }

    @Test(arguments: cases)
    func `what a reply means`(row: [String]) async throws {
        let place = row[0] == "greeting" ? "" : row[0]
        let reply = row[1].replacing(#"\r\n"#, with: "\r\n")
        let options = try SMTPSessionTests.secure {
            if place != "STARTTLS" { $0.identity = nil }
            if place == "AUTH" { $0.offers = ["AUTH PLAIN"] }
            $0.script = {
                place == $0.line || (!place.isEmpty && $0.line.hasPrefix(place))
                    ? .say(reply) : .usual
            }
        }
        let config =
            ["AUTH": SMTPSessionTests.login, "STARTTLS": SMTPSessionTests.starttls][place] ?? []
        let rig = try await SMTPRig(options, config: config, password: "pw")
        let outcome = try await rig.send()
        #expect("\(outcome.kind)" == row[2] && outcome.reason == row[3])
        #expect(outcome.scope == (row.last == "instance" ? .instance : .item))
        let wait: UInt64 = row[2] == "throttled" ? 60_000 : row[2] == "auth" ? 30_000 : 0
        #expect(outcome.retryAfterMs == wait)
        #expect(outcome.providerCode == UInt32(reply.prefix(3)))
        #expect(outcome.detail.hasPrefix(place == "." ? "end of data: " : place))
        // Only our own text, never the server's.
        let words = outcome.detail + rig.services.lines.description
        #expect(!words.contains("you@") && !words.contains("no such") && !words.contains("busy"))
        #expect(rig.server.mails.isEmpty)
        await rig.end()
    }
}
