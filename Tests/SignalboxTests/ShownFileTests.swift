import SignalboxConfig
import SignalboxCore
import Testing

@testable import Signalbox
@testable import SignalboxAdmin
@testable import SignalboxGateway

/// gateway.yaml as the admin page shows it.
@Suite struct ShownFileTests {
    private func lines(_ text: String, files: [String: String] = [:]) -> [String] {
        var options = GatewayOptions(configPath: "gateway.yaml")
        options.environment = ConfigEnvironment(variables: ["A": "value-of-a", "B": "value-of-b"]) {
            files[$0].map { .success(Array($0.utf8)) } ?? .failure(.missing)
        }
        options.setConfig(text: text, folder: "/nowhere")
        return ShownFile(GatewayPlan.examine(options).plan).lines
    }

    @Test(arguments: [
        ("  admin_token: \"abc-def\"", "  admin_token: ••••••"),
        ("  admin_token: ${env:A}", "  admin_token: ${env:A}"),
        (
            "  admin_token: \"${file:a/${env:B}}\"  # mine",
            "  admin_token: \"${file:a/${env:B}}\"  # mine"
        ),
        ("  admin_token: \"${env:A:-fallback-secret}\"", "  admin_token: ••••••"),
        ("  admin_token: \"${env:A:-}\"", "  admin_token: \"${env:A:-}\""),
        ("  admin_token: x${env:A}", "  admin_token: ••••••"),
        (
            "  store: { postgres: \"postgres://u:pw@h/d\", lease: 20s }",
            "  store: { postgres: •••••• lease: 20s }"
        ),
        ("  name: abc", "  name: abc"),
        ("  # admin_token: old-secret", "  # admin_token: ••••••"),
        ("  # a note: nothing to hide", "  # a note: nothing to hide"),
        (
            "  tracing: { endpoint: \"https://otlp.example.com/v1/traces?code=s3cret\" }",
            "  tracing: { endpoint: ••••••"
        ),
        ("  # url: https://hooks.example.com/x?sig=old", "  # url: ••••••"),
    ])
    func `a secret is masked, and a reference is not`(given: String, shown: String) {
        let text = "version: 1\ngateway:\n\(given)\n# the routes\nroutes: []\n"
        #expect(
            lines(text) == ["version: 1", "gateway:", shown, "# the routes", "routes: []"])
    }

    @Test func `a path of a plugin may be its secret`() {
        let text =
            "version: 1\nplugins:\n  z:\n    library: Zendesk\n    config:\n      path: /in/s3cret\n"
        #expect(lines(text).last == "      path: ••••••")
    }

    @Test func `a query is masked in addresses of the gateway and shown in links of pushes`() {
        let text = """
            version: 1
            outcomes:
              - { name: a, url: "https://x.example.com/hook?code=s3cret" , secret: "${env:A}" }
            tests:
              - name: t
                given:
                  path: /in/z?sig=s3cret
            routes:
              - name: r
                build: { set: { link: "https://shop.example.com/?order={{ id }}" } }
            """
        let all = lines(text).joined(separator: "\n")
        #expect(!all.contains("s3cret"))
        #expect(all.contains("https://shop.example.com/?order={{ id }}"))
    }

    @Test func `a secret of many lines is masked in all of them`() {
        let text = """
            version: 1
            gateway:
              tls:
                key: |
                  -----BEGIN PRIVATE KEY-----
                  # abcdef
                  -----END PRIVATE KEY-----
                certificate: x
            devices:
              clients:
                - name: a
                  token: "first
                    # second"
                  app: b
            """
        let shown = lines(text)
        #expect(shown.count == 14)
        let all = shown.joined(separator: "\n")
        for secret in ["BEGIN", "abcdef", "END", "first", "second"] {
            #expect(!all.contains(secret))
        }
        #expect(all.contains("    certificate: x") && all.contains("      app: b"))
    }

    @Test func `of a plugin without a schema everything is a secret`() {
        let text = """
            version: 1
            plugins:
              a:
                library: /nowhere/libNone.so
                config: { path: /in/hidden, number: 7 }
            """
        let all = lines(text).joined(separator: "\n")
        #expect(all.contains("library: /nowhere/libNone.so"))
        #expect(!all.contains("hidden") && !all.contains("7"))
    }

    @Test func `what is not YAML is not shown`() {
        #expect(lines("admin_token: [secret\n").isEmpty)
    }
}
