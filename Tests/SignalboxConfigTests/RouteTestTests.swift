import SignalboxConfig
import SignalboxCore
import Testing

@Suite struct RouteTestTests {
    let rig = ConfigTests()

    @Test func `tests are read with everything they say`() throws {
        let (config, words) = rig.load(
            """
            version: 1
            gateway: { sources: [shop] }
            plugins: { z: { library: Z }, a: { library: A } }
            routes: [ { name: r, from: z, send: { ios: a } } ]
            tests:
              - name: one
                given: { plugin: z, path: /in/z, headers: { X-Key: 7 }, body: { a: 1 } }
                devices: [ { user: u, platform: ios, token: t } ]
                answers: [ { url: "https://x", status: 404 } ]
                expect:
                  - { route: r, send: a, platform: ios, user: u, pushes: 2, payload: { aps: {} } }
                  - { status: 200 }
                  - { route: r, skipped: unknown_user }
              - name: two
                given: { source: shop, event: { type: t } }
                expect: []
            """)
        #expect(words == [])
        let (one, two) = (config.tests[0], config.tests[1])
        guard case .webhook(let webhook) = one.given, case .event("shop", let event) = two.given
        else {
            Issue.record("read as something else")
            return
        }
        #expect(webhook.plugin == "z" && webhook.path == "/in/z" && webhook.method == nil)
        #expect(webhook.headers == [Attribute("x-key", "7")])
        #expect(webhook.body?.text == #"{"a":1}"#)
        #expect(one.devices?.count == 1 && one.answers.count == 1)
        #expect(one.expect.map(\.pushes) == [2, nil, nil])
        #expect(one.expect.map(\.status) == [nil, 200, nil])
        #expect(one.expect[2].skipped == "unknown_user")
        #expect(event.text == #"{"type":"t"}"#)
        #expect(two.devices == nil && two.expect.isEmpty)
    }

    @Test func `faults of tests are found without running them`() {
        let (_, words) = rig.load(
            """
            version: 1
            plugins: { z: { library: Z }, a: { library: A } }
            routes: [ { name: r, from: z, send: { ios: a } } ]
            tests:
              - { name: one, given: { plugin: zz }, expect: [ { send: b, payload: 7 } ] }
              - { name: one, given: { plugin: z, body: x, body_file: y }, expect: [] }
              - { name: two, given: { event: {} }, expect: {} }
            """)
        #expect(
            words == [
                "conf/gateway.yaml:5:35: unknown-plugin: test \"one\" given: unknown plugin \"zz\" (did you mean \"z\"?)",
                "conf/gateway.yaml:5:59: unknown-plugin: test \"one\" expect: unknown plugin \"b\" (did you mean \"z\"?)",
                "conf/gateway.yaml:5:71: wrong-type: test \"one\" expect: payload must be a map of members",
                "conf/gateway.yaml:6:5: duplicate-name: there are two tests \"one\"",
                "conf/gateway.yaml:6:58: bad-value: test \"one\" given: give body or body_file, not both",
                "conf/gateway.yaml:7:25: missing-key: test \"two\" given: source is required",
                "conf/gateway.yaml:7:48: missing-key: test \"two\": expect must be a list",
            ])
    }

    @Test func `an expectation that nothing could fail is a fault`() {
        let (_, words) = rig.load(
            """
            version: 1
            plugins: { z: { library: Z }, a: { library: A } }
            routes: [ { name: r, from: z, send: { ios: a } } ]
            tests:
              - name: one
                now: "2026-01-02"
                given: { plugin: z }
                expect:
                  - { payload: {} }
                  - { headers: {} }
                  - { skipped: no_sender, payload: { a: 1 } }
                  - { skipped: no_sender, status: 200 }
                  - { pushes: 0, payload_file: x.json }
                  - { pushes: 0, send: z }
                  - { pushes: 0, route: r, platform: adnroid }
                  - { skipped: no_sender, platform: huawei }
                  - { pushes: 0, route: r, platform: ios, send: a }
            """)
        #expect(
            words.map { String($0.drop { $0 != " " }.dropFirst()) } == [
                "bad-value: test \"one\": now must be a time with its offset, such as 2026-01-02T23:30:00+01:00 or 2026-01-02T22:30:00Z",
                "bad-value: test \"one\" expect: payload is empty, which every push fits: name a member",
                "bad-value: test \"one\" expect: headers is empty, which every push fits: name a member",
                "bad-value: test \"one\" expect: payload says nothing of somebody who is skipped: expect it in an entry of its own",
                "bad-value: test \"one\" expect: status says nothing of somebody who is skipped: expect it in an entry of its own",
                "bad-value: test \"one\" expect: with pushes: 0 there is no push with payload_file",
                "bad-value: test \"one\" expect: no route sends by \"z\"",
                "bad-value: test \"one\" expect: route \"r\" never sends to platform \"adnroid\"",
            ])
    }

    @Test(arguments: [
        ("2026-01-02T23:30:00+01:00", 1_767_393_000_000 as UInt64?),
        ("2026-01-02T22:30Z", 1_767_393_000_000), ("1970-01-01T00:00:00Z", 0),
        ("2024-02-29T00:00:00-00:30", 1_709_166_600_000), ("2026-02-29T00:00:00Z", nil),
        ("2026-01-02T23:30:00", nil), ("2026-01-02", nil), ("2026-13-02T00:00:00Z", nil),
        ("2026-01-02T24:00:00Z", nil), ("1970-01-01T00:00:00+01:00", nil), ("", nil),
    ])
    func `a time names its offset`(_ text: String, _ unixMs: UInt64?) {
        #expect(InstantText.unixMs(text) == unixMs)
    }

    @Test func `values stand in for what is missing, if somebody asks for it`() throws {
        let text = """
            version: 1
            gateway: { admin_token: "${file:secrets/admin}" }
            plugins:
              z: { library: Z, config: { path: "/in/${env:PATH_SECRET}", known: "${env:KNOWN}" } }
              a: { library: A }
            routes: [ { name: r, from: z, send: { ios: a } } ]
            """
        var environment = ConfigEnvironment(
            variables: ["KNOWN": "k"],
            readFile: { $0 == "g.yaml" ? .success(Array(text.utf8)) : .failure(.missing) })
        let faults = GatewayConfig.load("g.yaml", environment: environment).diagnostics
        #expect(faults.contains { $0.code == "unset-variable" })
        #expect(faults.contains { $0.code == "missing-file" })
        environment.standIn = { missing in
            switch missing {
            case .variable(let name): "<\(name)>"
            case .file: "short"
            }
        }
        let (config, others) = GatewayConfig.load("g.yaml", environment: environment)
        #expect(others == [])
        let values = config.plugins.first?.config
        #expect(values?["path"]?.string == "/in/<PATH_SECRET>")
        #expect(values?["path"]?.isStandIn == true && values?["known"]?.isStandIn == false)
        #expect(values?["known"]?.string == "k")
    }
}
