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
