import SignalboxCore
import SignalboxJSON
import Testing

@testable import Signalbox
@testable import SignalboxOffline

/// What tests of a gateway.yaml may expect: each expectation can fail.
@Suite struct RouteTestExpectationTests {
    private static let yaml = """
        version: 1
        gateway: { listen: false, admin: false, sources: [shop] }
        plugins:
          texts: { library: Texts }
          quiet: { library: QuietHours, config: { from: "22:00", to: "07:00", timezone: Europe/Vienna } }
          smtp: { library: SMTP, config: { host: smtp.example.com, username: u, password: "${file:p}", from: push@example.com } }
          apns: { library: APNs, config: { team_id: "${env:TEAM}", key_id: "${env:KEY}", key: "${file:k.p8}", topic: com.example.shop } }
        routes:
          - { name: mails, from: shop, when: { type: mail }, build: { with: texts }, send: { email: smtp } }
          - { name: calm, from: shop, when: { type: push }, filter: [quiet], build: { with: texts }, send: { ios: apns }, deliver: { expires: 1h } }
        tests:

        """
    private static let mail =
        "{ source: shop, event: { type: mail, recipients: [ { user: u-1 } ], data: { title: Order 5, body: On its way } } }"
    private static let push =
        "{ source: shop, event: { type: push, recipients: [ { user: u-1 } ], data: { title: Order 5 } } }"

    /// The differences that a test shows; empty: it passes.
    private static func lines(_ given: String, _ more: String) async throws -> [String] {
        let trial = try ExplainTests.trial(
            yaml: yaml + "  - { name: t, given: \(given), \(more) }\n")
        var lines: [String] = []
        await RouteTestRun(trial).run { lines += $0.failures.flatMap(\.lines) }
        return lines
    }

    @Test(
        arguments: [
            ("payload: { title: Order 5, body: On its way, badge: null }", []),
            (
                "payload: { title: Order 6 }",
                [#"payload.title: expected "Order 6", found "Order 5""#]
            ),
            ("payload: { aps: {} }", ["payload.aps: expected {}, found nothing"]),
            (
                "headers: { apns-topic: x }",
                [
                    #"header apns-topic: expected "x", found no request: smtp has a transport of its own, expect its payload"#
                ]
            ),
        ] as [(String, [String])])
    func `a sender with a transport of its own is compared by what it is given`(
        _ expected: String, _ lines: [String]
    ) async throws {
        let found = try await Self.lines(Self.mail, "expect: [ { send: smtp, \(expected) } ]")
        #expect(found == lines)
    }

    @Test(
        arguments: [
            ("2026-01-02T23:30:00+01:00", "not_before: 2026-01-03T07:00:00+01:00", []),
            (
                "2026-01-02T23:30:00+01:00", "not_before: 2026-01-03T07:30:00+01:00",
                ["not_before: expected 2026-01-03T06:30:00.000Z, found 2026-01-03T06:00:00.000Z"]
            ),
            ("2026-01-02T12:00:00+01:00", "not_before: now", []),
            (
                "2026-01-02T23:30:00+01:00", "not_before: now",
                ["not_before: expected none, found 2026-01-03T06:00:00.000Z"]
            ),
            ("2026-01-02T12:00:00+01:00", "headers: { apns-expiration: 1767355200 }", []),
            (
                "2026-01-02T12:00:00+01:00", "not_before: 2026-01-03T07:00:00+01:00",
                ["not_before: expected 2026-01-03T06:00:00.000Z, found none, it is sent at once"]
            ),
            // Its hour begins when the quiet hours end.
            ("2026-01-02T23:30:00+01:00", "headers: { apns-expiration: 1767423600 }", []),
        ] as [(String, String, [String])])
    func `a test has a time of its own, which filters and senders see`(
        _ now: String, _ expected: String, _ lines: [String]
    ) async throws {
        let found = try await Self.lines(
            Self.push, "now: \"\(now)\", expect: [ { route: calm, \(expected) } ]")
        #expect(found == lines)
    }

    @Test(arguments: [
        ("title: Hello", ["payload.title: expected \"Hello\", found \"Hallo\""]),
        ("body: B", []),
    ])
    func `of several pushes each is as expected`(_ wanted: String, _ lines: [String]) async throws {
        let yaml = Self.yaml.replacing(
            "when: { type: mail }, build: { with: texts }",
            with: "when: { type: mail }, build: { with: texts, set: { title: \"{{ texts.hi }}\" } }"
        ).replacing("routes:", with: "texts: { hi: { default: Hello, de: Hallo } }\nroutes:")
        let trial = try ExplainTests.trial(
            yaml: yaml + """
                  - name: t
                    given: { source: shop, event: { type: mail, recipients: [ { user: u-1 }, { user: u-2 } ], data: { title: T, body: B } } }
                    devices: [ { user: u-1, platform: email, token: a@b.example, locale: en }, { user: u-2, platform: email, token: c@d.example, locale: de } ]
                    expect: [ { send: smtp, pushes: 2, payload: { \(wanted) } } ]

                """)
        var found: [String] = []
        await RouteTestRun(trial).run { found += $0.failures.flatMap(\.lines) }
        #expect(found == lines)
    }

    @Test func `nobody gets nothing only if somebody by that name is there`() async throws {
        let wanted = "now: \"2026-01-02T12:00:00Z\", expect: [ { route: mails, pushes: 0, user:"
        #expect(try await Self.lines(Self.push, "\(wanted) u-1 } ]") == [])
        #expect(
            try await Self.lines(Self.push, "\(wanted) u-2 } ]")
                == ["nothing that came in names u-2"])
    }

    @Test func `nobody gets nothing is no answer to a builder that fails`() async throws {
        let yaml = Self.yaml.replacing(
            "  texts: { library: Texts }",
            with: """
                  texts: { library: Texts }
                  chat: { library: Sendbird, config: { path: /in/sb, app_id: A, api_token: t } }
                """
        ).replacing(
            "when: { type: mail }, build: { with: texts }",
            with: "when: { type: mail }, build: { with: chat }")
        let trial = try ExplainTests.trial(
            yaml: yaml + """
                  - { name: all, given: \(Self.mail), expect: [] }
                  - { name: one, given: \(Self.mail), expect: [ { route: mails, pushes: 0 } ] }
                  - { name: other, given: \(Self.mail), expect: [ { route: calm, pushes: 0 } ] }

                """)
        var failed: [String] = []
        await RouteTestRun(trial).run { test in
            if test.failures.flatMap(\.lines).contains(where: { $0.hasPrefix("route mails: ") }) {
                failed.append(test.name)
            }
        }
        #expect(failed == ["all", "one"])
    }

    @Test func `with a status, everything else is expected, too`() async throws {
        let yaml = Self.yaml.replacing("sources: [shop]", with: "sources: [shop]").replacing(
            "  texts: { library: Texts }",
            with: "  texts: { library: Texts }\n  z: { library: Zendesk, config: { path: /in/z } }"
        ).replacing("from: shop, when: { type: push }", with: "from: z")
        let trial = try ExplainTests.trial(
            yaml: yaml + """
                  - name: t
                    given: { plugin: z, body: { devices: [ { identifier: 00aa, type: ios } ], notification: { title: T, body: B, ticket_id: "5" } } }
                    expect: [ { status: 200, platform: email } ]

                """)
        var passed: [Bool] = []
        await RouteTestRun(trial).run { passed.append($0.isPassed) }
        #expect(passed == [false])
    }

    @Test func `what has expired is not sent`() {
        var push = TrialReport.Push(
            sender: "apns", device: Device(token: "t"), isInvented: false,
            notification: PushNotification())
        push.hasOwnTransport = true
        push.expire(0, nowUnixMs: 10)
        push.expire(11, nowUnixMs: 10)
        #expect(push.isSent)
        push.notBeforeUnixMs = 20
        push.expire(11, nowUnixMs: 10)
        #expect(!push.isSent && push.fault == "expired at 1970-01-01T00:00:00.011Z")
    }
}
