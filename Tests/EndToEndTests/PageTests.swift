import Foundation
import PluginRig
import SignalboxCore
import SignalboxHTTP
import SignalboxJSON
import SignalboxSimulators
import Testing

/// The admin page in a real browser.
@Suite(.serialized) struct PageTests {
    /// A gateway and a browser, which has given the token if there is one.
    private static func with(
        token: String? = AdminTests.token, more: String = "",
        _ body: (GatewayRig, Browser, String) async throws -> Void
    ) async throws {
        let settings = token.map { #", admin_token: "\#($0)""# } ?? ""
        let rig = try await GatewayRig(config: {
            AdminTests.config($0, settings, "127.0.0.1:0") + more
        })
        let browser = try await Browser.start()
        let address = "http://127.0.0.1:\(try #require(rig.gateway.adminPort))/"
        if let token {
            try await browser.call(
                "Page.addScriptToEvaluateOnNewDocument",
                #"{"source":"try { sessionStorage.setItem('signalbox-token', '\#(token)') } catch { }"}"#
            )
        }
        do {
            try await body(rig, browser, address)
        } catch {
            Issue.record(error)
        }
        #expect(browser.complaints == [])
        await browser.end()
        await rig.end()
    }

    /// Opens the dead letters when there are so many.
    private static func showDead(
        _ count: Int, _ rig: GatewayRig, _ browser: Browser
    ) async throws {
        let headers = ["host: localhost", "authorization: Bearer \(AdminTests.token)"]
        for _ in 0..<500 {
            let answer = try await AdminTests.ask(rig, "GET", "/dead", headers)
            if answer.head.contains("\"count\":\(count),") { break }
        }
        try await browser.run("location.hash = '#/dead'")
        try await browser.until("document.querySelectorAll('.letters > li').length === \(count)")
    }

    private static func isNarrow(_ browser: Browser) async throws -> Bool {
        try await browser.run("document.documentElement.scrollWidth <= innerWidth") == .bool(true)
    }

    @Test(arguments: [false, true])
    func `the overview shows routes, senders and live figures`(isDark: Bool) async throws {
        try await Self.with { rig, browser, address in
            try await browser.open(address, isDark: isDark)
            try await browser.sees("#state", "ready")
            for name in ["z", "replies", "apns", "fcm"] {
                try await browser.until(
                    "[...document.querySelectorAll('.graph .name')].some((one) => one.textContent === '\(name)')"
                )
            }
            try await rig.post(GatewayRig.webhook([("ios", "a"), ("android", "b")]))
            _ = await rig.delivered(rig.simulators.apns, 1)
            try await browser.until("document.querySelector('.node.sender.good')")
            try await browser.until("document.querySelectorAll('.plots figure').length === 4")
            try await browser.sees("caption", "Senders")
            let ground = try await browser.run(
                "getComputedStyle(document.documentElement).backgroundColor")
            #expect(ground.string == (isDark ? "rgb(20, 23, 27)" : "rgb(246, 247, 249)"))
            #expect(try await Self.isNarrow(browser))
        }
    }

    @Test func `nothing is wider than a phone`() async throws {
        try await Self.with { rig, browser, address in
            try await rig.post(GatewayRig.webhook([("ios", "a"), ("android", "b")]))
            _ = await rig.delivered(rig.simulators.apns, 1)
            for (part, sign) in [
                ("overview", "tbody tr"), ("trace?subject=ticket/5", ".card"),
                ("dead", "main .note"),
                ("try", "#try-text"), ("devices?user=u", "main .note"), ("config", ".lines li"),
            ] {
                try await browser.open(
                    "\(address)?\(part.prefix(3))#/\(part)", width: 390, height: 844)
                try await browser.until("document.querySelector('\(sign)')")
                #expect(try await Self.isNarrow(browser), "\(part)")
            }
        }
    }

    @Test func `the keyboard alone finds what became of an event`() async throws {
        try await Self.with { rig, browser, address in
            try await rig.post(GatewayRig.webhook([("ios", "token-of-ann")], ticket: "77"))
            _ = await rig.delivered(rig.simulators.apns, 1)
            try await browser.open(address)
            try await browser.sees("#state", "ready")
            for _ in 0..<20 {
                try await browser.press("Tab")
                if try await browser.run("document.activeElement.textContent") == .string("Trace") {
                    break
                }
            }
            try await browser.press("Enter")
            try await browser.until(
                "document.activeElement.id === 'main' && document.querySelector('#trace-text')")
            try await browser.run("document.querySelector('#trace-kind').value = 'subject'")
            try await browser.press("Tab")
            try await browser.press("Tab")
            try await browser.type("ticket/77")
            try await browser.press("Enter")
            try await browser.sees(".card", "delivered")
            #expect(
                try await browser.run("location.hash") == .string("#/trace?subject=ticket%2F77"))
            let shown =
                try await browser.run("document.querySelector('.card').innerText").string ?? ""
            #expect(shown.contains("route replies takes it"))
            #expect(!shown.contains("token-of-ann"))
        }
    }

    @Test func `dead letters are looked at and sent again`() async throws {
        try await Self.with { rig, browser, address in
            try await rig.simulators.apns.take(
                .fail(tokens: [], status: 400, reason: "BadPriority", times: nil))
            for ticket in ["1", "2"] {
                try await rig.post(GatewayRig.webhook([("ios", "t\(ticket)")], ticket: ticket))
            }
            _ = await rig.simulators.apns.wait(for: 2)
            try await browser.open(address)
            try await Self.showDead(2, rig, browser)
            try await browser.run("document.querySelector('.letters summary').click()")
            try await browser.sees(".detail", "secret-body")
            try await browser.sees(".detail", "code 400")
            try await rig.simulators.apns.take(.clear)
            try await browser.run("document.querySelector('.letters > li input').click()")
            try await browser.run(
                "[...document.querySelectorAll('button')].find((one) => one.textContent === 'Send chosen again').click()"
            )
            try await browser.sees("[role=status]", "1 sent again")
            try await browser.until("document.querySelectorAll('.letters > li').length === 1")
            #expect(await rig.delivered(rig.simulators.apns, 1).count == 1)
        }
    }

    @Test func `without a configured token it only shows`() async throws {
        try await Self.with(token: nil) { rig, browser, address in
            try await rig.simulators.apns.take(
                .fail(tokens: [], status: 400, reason: "BadPriority", times: nil))
            try await rig.post(GatewayRig.webhook([("ios", "t")]))
            _ = await rig.simulators.apns.wait(for: 1)
            try await browser.open(address)
            try await browser.sees("#rights", "Read-only")
            try await browser.until("document.querySelectorAll('tbody tr').length > 2")
            #expect(
                try await browser.run("document.querySelectorAll('td button').length")
                    == .integer(0))
            try await Self.showDead(1, rig, browser)
            #expect(
                try await browser.run("document.querySelectorAll('.letters input').length")
                    == .integer(0))
            let status = try await browser.run(
                """
                fetch("/dead/purge", { method: "POST", headers: { "content-type": "application/json" },
                  body: '{"all":true}' }).then((answer) => answer.status)
                """)
            #expect(status == .integer(403))
            // The browser itself logs that request.
            #expect(browser.complaints.count == 1)
            browser.forget()
        }
    }

    @Test func `it asks for the token, and says that a wrong one is wrong`() async throws {
        let rig = try await AdminTests.rig(#", admin_token: "\#(AdminTests.token)""#)
        let browser = try await Browser.start()
        try await browser.open("http://127.0.0.1:\(try #require(rig.gateway.adminPort))/")
        try await browser.until("document.activeElement.id === 'token'")
        try await browser.type("a-wrong-token-1234")
        try await browser.press("Enter")
        try await browser.sees("#login-fault", "does not accept this token")
        try await browser.type(AdminTests.token)
        try await browser.press("Enter")
        try await browser.sees("#state", "ready")
        #expect(try await browser.run("document.querySelector('#login').hidden") == .bool(true))
        #expect(!(try await browser.run("location.href").string ?? "").contains(AdminTests.token))
        await browser.end()
        await rig.end()
    }

    @Test func `a dry run shows routes, sizes and lock screens, and sends nothing`() async throws {
        try await Self.with { rig, browser, address in
            try await browser.open(address)
            try await browser.sees("#state", "ready")
            try await browser.run("location.hash = '#/try'")
            try await browser.until("document.querySelector('#try-from option')")
            let body = GatewayRig.webhook([("ios", "00aa11"), ("android", "b")])
            try await browser.run("document.querySelector('#try-text').focus()")
            try await browser.type(body)
            try await browser.run("document.querySelector('form.try').requestSubmit()")
            try await browser.until(
                "document.querySelector('.iphone') && document.querySelector('.android')")
            for phone in [".iphone", ".android"] {
                try await browser.sees("\(phone) .title", "T")
                try await browser.sees("\(phone) .body", "secret-body")
            }
            try await browser.sees(".size", "of 4,096")
            try await browser.sees(".route", "replies")
            try await browser.sees(".note", "approximation")
            #expect(rig.simulators.apns.received.isEmpty && rig.gateway.waitingCount == 0)
            // An event, and why no route takes it.
            try await browser.run("document.querySelector('input[value=event]').click()")
            try await browser.run("document.querySelector('#try-text').select()")
            try await browser.type(#"{"type":"ticket.closed","subject":"ticket/5"}"#)
            try await browser.run("document.querySelector('form.try').requestSubmit()")
            try await browser.sees(".route", "no match")
            try await browser.sees(".note", "Nothing would be sent")
        }
    }

    @Test func `texts from outside stay texts and break nothing`() async throws {
        let bad = "<img src=x onerror=\"window.hacked=1\"><script>window.hacked=1</script>"
        let marks = String(repeating: "\u{0301}\u{0489}", count: 400)
        let title = "\u{202E}\(bad)e\(marks)" + String(repeating: "W", count: 3_000)
        try await Self.with { rig, browser, address in
            try await rig.simulators.apns.take(
                .fail(tokens: [], status: 400, reason: "BadPriority", times: nil))
            let webhook: JSONValue = [
                "devices": [["identifier": "a", "type": "ios"]],
                "notification": [
                    "title": .string(title), "body": .string(title), "ticket_id": "<b>5</b>",
                ],
            ]
            try await rig.post(webhook.text)
            _ = await rig.simulators.apns.wait(for: 1)
            try await browser.open(address, width: 390, height: 844)
            try await Self.showDead(1, rig, browser)
            try await browser.run("document.querySelector('.letters summary').click()")
            try await browser.sees(".detail", "<img src=x")
            #expect(try await Self.isNarrow(browser))
            let height = try await browser.run(
                "document.querySelector('.letters summary').offsetHeight")
            #expect((height.integer ?? 999) < 200)
            try await browser.run("location.hash = '#/try'")
            try await browser.until("document.querySelector('#try-from option')")
            try await browser.run(
                "document.querySelector('#try-text').value = \(JSONValue.string(webhook.text).text)"
            )
            try await browser.run("document.querySelector('form.try').requestSubmit()")
            try await browser.sees(".iphone .title", "<img src=x")
            #expect(try await Self.isNarrow(browser))
            #expect(
                try await browser.run(
                    "document.querySelector('main img, main script, main b') === null && window.hacked === undefined"
                )
                    == .bool(true))
        }
    }

    @Test func `the configuration is shown with its marks and without its secrets`() async throws {
        try await Self.with { rig, browser, address in
            let file = rig.file
            let text = try rig.text
            try (text + "\noutcome: []\n").write(to: file, atomically: true, encoding: .utf8)
            try await browser.open("\(address)#/config")
            try await browser.sees(".marked", "unknown-key")
            try await browser.sees(".marked code", "outcome: []")
            try await browser.sees(".note", "The file has changed since it was last applied")
            let shown =
                try await browser.run("document.querySelector('.lines').innerText").string ?? ""
            #expect(shown.contains("admin_token: ••••••") && shown.contains("${file:"))
            #expect(!shown.contains(AdminTests.token))
        }
    }

    @Test func `a user's devices are shown without their tokens`() async throws {
        let client =
            "\ndevices: { clients: [{ name: a, token: devices-token-0123, app: com.example.app, "
            + "scopes: [read, write] }] }\n"
        try await Self.with(more: client) { rig, browser, address in
            let body: JSONValue = [
                "user": "Ann & Bob", "platform": "ios",
                "token": .string(String(repeating: "0a", count: 31) + "beef"),
                "attributes": ["muted": "no"],
            ]
            let made = try await DeviceTests.call(
                rig, "POST", "/v1/devices", body.text, token: "devices-token-0123")
            #expect(made.status == 200)
            try await browser.open("\(address)#/devices?user=Ann%20%26%20Bob")
            try await browser.sees("td", "…beef")
            try await browser.sees("td", "muted: no")
            let shown = try await browser.run("document.body.innerText").string ?? ""
            #expect(!shown.contains("0a0a"))
        }
    }

    @Test func `a sender is paused and resumed, and only after a second click`() async throws {
        try await Self.with { rig, browser, address in
            try await browser.open(address)
            let button = "document.querySelector('td[data-head=change] button')"
            try await browser.until(button)
            try await browser.run("(\(button).focus(), \(button).click())")
            try await browser.until("\(button).textContent === 'Really pause?'")
            try await browser.run("\(button).click()")
            try await browser.sees(".badge", "paused")
            try await browser.until("\(button).textContent === 'Resume'")
            try await browser.run("\(button).click()")
            try await browser.until("\(button).textContent === 'Pause'")
            // The same for a route, which the diagram shows, too.
            let last = "[...document.querySelectorAll('td[data-head=change] button')].at(-1)"
            try await browser.run("(\(last).focus(), \(last).click(), \(last).click())")
            try await browser.until("\(last).textContent === 'Resume'")
            try await browser.until(
                "document.querySelector('.node.route .figures').textContent === 'paused'")
            let changes = rig.log.all.filter { $0.contains("action=POST /pause") }
            #expect(changes.count == 2)
        }
    }
}
