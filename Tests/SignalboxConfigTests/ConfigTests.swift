import Foundation
import SignalboxConfig
import SignalboxCore
import Testing

@Suite struct ConfigTests {
    static let tail = """

        plugins:
          z: { library: Z, config: {} }
          a: { library: A }
        routes:
          - { name: r, from: z, send: { ios: a } }
        """

    func load(
        _ text: String, variables: [String: String] = [:], files: [String: String] = [:]
    ) -> (config: GatewayConfig, words: [String]) {
        let environment = ConfigEnvironment(
            variables: variables,
            readFile: { path in
                if path == "conf/gateway.yaml" { return .success(Array(text.utf8)) }
                return files[path].map { .success(Array($0.utf8)) } ?? .failure(.missing)
            })
        let (config, diagnostics) = GatewayConfig.load(
            "conf/gateway.yaml", environment: environment)
        return (config, diagnostics.map(\.description))
    }

    func value(
        _ yaml: String, variables: [String: String] = [:], files: [String: String] = [:]
    ) throws -> ConfigValue {
        let text =
            "version: 1\nplugins:\n  z: { library: Z, config: { v: \(yaml) } }\n"
            + "  a: { library: A }\nroutes: [ { name: r, from: z, send: { ios: a } } ]\n"
        let (config, words) = load(text, variables: variables, files: files)
        #expect(words == [])
        return try #require(config.plugins.first?.config?["v"])
    }

    @Test(arguments: [
        ("8080", "8080 is a port without a host: write 127.0.0.1:8080"),
        ("'8080'", "8080 is a port without a host"),
        ("http://localhost:80/", "an address has no scheme: write localhost:80"),
        ("localhost", "the port is missing: write localhost:8080"),
        ("'::1'", "the port is missing: write [::1]:8080"),
    ])
    func `advice about an address starts from what was written`(given: String, words: String) {
        let (_, faults) = load("version: 1\ngateway: { listen: \(given) }" + Self.tail)
        #expect(
            faults.count == 1 && faults[0].contains(" bad-address: gateway: listen must be host"))
        #expect(faults.first?.contains("; \(words)") == true)
        let secret = load(
            "version: 1\ngateway: { listen: \"${env:A}\" }" + Self.tail, variables: ["A": "hush"])
        #expect(secret.words.first?.hasSuffix("or false") == true)
    }

    @Test func `an empty file is named where its secret is missing`() {
        let (_, faults) = load(
            "version: 1\ndevices:\n  clients: [{ name: a, token: \"${file:secrets/empty}\", app: x, scopes: [read] }]"
                + Self.tail, files: ["conf/secrets/empty": "\n"])
        #expect(
            faults.contains { $0.contains("token: the file conf/secrets/empty is empty") },
            "\(faults)")
    }

    @Test func `a name is no variable, and no message shows the value of one`() {
        let routes = Self.tail.replacing("name: r", with: "name: \"${env:A}\"")
        let (_, faults) = load("version: 1\n" + routes, variables: ["A": "hush"])
        #expect(faults.contains { $0.contains("write the name itself") }, "\(faults)")
        #expect(!faults.contains { $0.contains("hush") })
    }

    @Test func `a number where a time belongs is probably in seconds`() {
        let (_, faults) = load("version: 1\ngateway: { drain: 30 }" + Self.tail)
        #expect(faults.first?.hasSuffix("; if you mean seconds, write 30s") == true)
    }

    @Test func `references may be inside each other`() throws {
        let files = ["conf/keys/prod/a": "from-a"]
        func text(_ yaml: String, _ variables: [String: String] = [:]) throws -> ConfigValue {
            try value("\"\(yaml)\"", variables: variables, files: files)
        }
        let chain = "${env:A:-${env:B:-last}}"
        #expect(try text(chain).string == "last")
        #expect(try text(chain, ["B": "b"]).string == "b")
        #expect(try text(chain, ["A": "a"]).string == "a")
        let file = try text("${file:keys/${env:STAGE}/a}", ["STAGE": "prod"])
        #expect(file.string == "from-a" && file.secretFile == "conf/keys/prod/a")
        let other = try text("${env:A:-${file:keys/prod/a}}")
        #expect(other.string == "from-a" && other.secretFile == "conf/keys/prod/a")
        #expect(try text("${env:A:-x${file:keys/prod/a}}").secretFile == nil)
        #expect(try text("${env:A:-a}b}").string == "ab}")
        #expect(try text("$${env:A:-${env:B:-c}}").string == "${env:A:-c}")
        // What is not needed is not asked for.
        #expect(try text("${env:A:-${env:NOBODY}}", ["A": "a"]).string == "a")
    }

    @Test(arguments: [
        ("${env:A:-${env:B}}", "the environment variable B is not set"),
        ("${env:${env:A:-secret}}", "the environment variable ${env:A:-secret} is not set"),
        ("${file:${env:A:-secret}}", "the file ${env:A:-secret} does not exist"),
        ("${env:A:-${env:B}", "\"${\" is never closed"),
        ("${evn:A:-${env:B}}", "write ${env:NAME} or ${file:path} (did you mean \"env\"?)"),
        (String(repeating: "${env:", count: 9), "is nested more than 8 levels deep"),
    ])
    func `a reference inside another has its own fault`(given: String, words: String) {
        let (_, faults) = load("version: 1\ngateway: { name: \"\(given)\" }" + Self.tail)
        #expect(faults.contains { $0.contains(words) })
    }

    @Test func `receivers of outcomes are read, and routes know whether opens are wanted`() throws {
        let (config, words) = load(
            """
            version: 1
            plugins: { z: { library: Z }, a: { library: A } }
            routes:
              - { name: one, from: z, send: { ios: a } }
              - { name: two, from: z, send: { ios: a } }
            outcomes:
              - name: crm
                url: https://crm.example.com/in
                secret: "${file:secret}"
                routes: [one]
                results: [delivered, opened]
                ca: ca.pem
              - { name: local, url: "http://127.0.0.1:8/in", secret: long-enough-secret, results: [dead] }
              - { name: lake, plugin: a }
            """, files: ["conf/secret": "another-long-secret"])
        #expect(words == [])
        let (crm, local) = (config.outcomeReceivers[0], config.outcomeReceivers[1])
        #expect(crm.name == "crm" && crm.plugin == nil)
        #expect(
            crm.target
                == .web(
                    url: "https://crm.example.com/in", secret: "another-long-secret",
                    caFile: "conf/ca.pem"))
        #expect(crm.wish == OutcomeWish(results: [.delivered, .opened], routes: ["one"]))
        #expect(local.wish == OutcomeWish(results: [.dead]))
        #expect(
            local.target
                == .web(url: "http://127.0.0.1:8/in", secret: "long-enough-secret", caFile: nil))
        let lake = config.outcomeReceivers[2]
        #expect(lake.target == .plugin("a") && lake.wish.results == OutcomeResult.usual)
        #expect(config.routes.map(\.route.marksOpens) == [true, true])
    }

    @Test func `a sound file is read whole`() throws {
        let (config, words) = load(
            """
            version: 1
            gateway:
              listen: "[::1]:8080"
              admin: false
              data: /var/lib/x
              drain: 1500ms
              log: { level: debug, format: json, users: none }
            plugins:
              z: { library: Zendesk, config: { path: /in } }
              a: { library: /opt/libA.so }
              f: { library: FCM }
            retry:
              slow: { initial: 2s, factor: 3, max: 1h, retries: 9, jitter: 0.5 }
            routes:
              - name: one
                from: [z]
                when:
                  type: { prefix: "ticket." }
                  any: [ { priority: [high, urgent] }, { vip: true } ]
                build:
                  with: z
                  options: { display: app }
                  set: { title: "{{ t }}", badge: count, data: { k: "v" } }
                  overrides: { apns: { aps: { x: 1, y: "{{ t }}" } } }
                send: { ios: a, android: f }
                deliver: { retry: slow, expires: 2h, priority: low, collapse: "{{ t }}" }
            tests:
              - { name: t, given: { plugin: z, body: "{}" }, expect: [ { route: one, send: a } ] }
            """)
        #expect(words == [])
        #expect(config.folder == "conf")
        #expect(config.gateway.listen == ListenAddress(host: "::1", port: 8080))
        #expect(config.gateway.admin == nil)
        #expect(config.gateway.drainMs == 1500)
        #expect(config.gateway.logLevel == "debug" && config.gateway.logFormat == "json")
        #expect(config.gateway.logUsers == "none")
        #expect(config.gateway.dataFolder == "/var/lib/x")
        #expect(config.plugins.map(\.name) == ["z", "a", "f"])
        let route = try #require(config.routes.first?.route)
        #expect(route.sources == ["z"] && route.builder == "z")
        #expect(route.senders == ["ios": "a", "android": "f"])
        #expect(route.rules.expiresMs == 7_200_000 && route.rules.priority == .low)
        #expect(
            route.rules.retry
                == RetryPolicy(
                    name: "slow", initialMs: 2000, factor: 3, maxMs: 3_600_000, retries: 9,
                    jitter: 0.5))
        let fields = EventFields(
            event: Event(type: "ticket.replied"),
            data: JSONValue.object([.init("vip", .bool(true)), .init("t", .string("T"))]))
        #expect(route.condition.holds(for: fields))
        #expect(route.set.countsBadge && route.set.fields.map(\.field) == [.title])
        var note = PushNotification()
        route.set.apply(to: &note, dataObject: .null, fields: fields, recipient: nil)
        #expect(note.title == "T" && note.data == #"{"k":"v"}"#)
        #expect(note.overrides.first?.json == #"{"aps":{"x":1,"y":"T"}}"#)
    }

    @Test(arguments: [
        ("127.0.0.1:1", true), ("127.9.9.9:1", true), ("[::1]:1", true), ("localhost:1", true),
        ("LocalHost:1", true), ("0.0.0.0:1", false), (":1", false), ("[::]:1", false),
        ("127.0.0.1.example:1", false), ("signalbox.internal:1", false), ("10.0.0.5:1", false),
        ("[::ffff:10.0.0.5]:1", false),
    ])
    func `it is known which addresses stay on the machine`(text: String, isLoopback: Bool) throws {
        #expect(try #require(ListenAddress(text)).isLoopback == isLoopback)
    }

    @Test func `what is not given has the defaults of the documentation`() throws {
        let (config, words) = load("version: 1" + Self.tail)
        #expect(words == [])
        let gateway = config.gateway
        #expect(gateway.drainMs == 30_000 && gateway.dedupeMs == 600_000)
        #expect(gateway.dataFolder == "./data")
        #expect(gateway.adminToken == nil && gateway.adminHosts == [] && gateway.sources == [])
        #expect(gateway.tls == nil)
        #expect(gateway.logLevel == "info" && gateway.logFormat == "text")
        #expect(gateway.logUsers == "hashed")
        let plugin = try #require(config.plugins.first)
        #expect(!plugin.isIsolated && plugin.dedupeMs == nil)
        let rules = try #require(config.routes.first?.route.rules)
        #expect(rules.expiresMs == 86_400_000 && rules.priority == .normal)
        #expect(rules.collapse == nil)
        let standard = RetryPolicy.standard
        #expect(standard.initialMs == 1_000 && standard.factor == 2 && standard.maxMs == 16_000)
        #expect(standard.retries == 5 && standard.jitter == 0)
        #expect(config.outcomeReceivers.isEmpty)
        #expect(config.gateway.listen == ListenAddress(host: "127.0.0.1", port: 8080))
        #expect(config.gateway.admin == ListenAddress(host: "127.0.0.1", port: 8081))
        #expect(config.routes.first?.route.rules.retry == .standard)
        #expect(config.routes.first?.route.builder == "z")
    }

    @Test(arguments: [
        ("word", "string"), ("\"1\"", "string"), ("1", "integer"), ("-7", "integer"),
        ("1.5", "number"), ("0123", "string"), ("1e3", "number"), ("true", "bool"),
        ("no", "string"),
        ("on", "string"), ("~", "null"), ("1.2.3", "string"), ("12:30", "string"),
    ])
    func `unquoted words mean what YAML 1.2 says`(yaml: String, kind: String) throws {
        let found =
            switch try value(yaml).kind {
            case .null: "null"
            case .bool: "bool"
            case .integer: "integer"
            case .number: "number"
            case .string: "string"
            case .list: "list"
            case .map: "map"
            }
        #expect(found == kind)
    }

    @Test(arguments: [
        (#""${env:X}""#, "x-value"), (#""a-${env:X}-b""#, "a-x-value-b"),
        (#""${env:NONE:-other}""#, "other"), (#""${env:NONE:-}""#, ""),
        (#""${env:EMPTY:-other}""#, "other"), (#""${file:s.txt}""#, "line 1\nline 2"),
        (#""${file:/abs/t}""#, "t"), (#""$${env:X}""#, "${env:X}"),
        (#""$$${env:X}""#, "$${env:X}"), (#""$5""#, "$5"),
    ])
    func `variables and files are filled in`(yaml: String, text: String) throws {
        let value = try value(
            yaml, variables: ["X": "x-value", "EMPTY": ""],
            files: ["conf/s.txt": "line 1\nline 2\n", "/abs/t": "t\r\n"])
        #expect(value.string == text)
    }

    @Test func `what was filled in is marked, and a whole file is remembered`() throws {
        #expect(try value(#""${env:X}""#, variables: ["X": "x"]).isSecret)
        #expect(try !value(#""plain""#).isSecret)
        let whole = try value(#""${file:s}""#, files: ["conf/s": "s"])
        #expect(whole.secretFile == "conf/s")
        let part = try value(#""a${file:s}""#, files: ["conf/s": "s"])
        #expect(part.isSecret && part.secretFile == nil)
    }

    @Test func `a value from a variable is a string whatever it looks like`() throws {
        let filled = try value("\"${env:X}\"", variables: ["X": "true"])
        #expect(filled.string == "true")
    }

    @Test func `nesting is bounded`() {
        let deep = String(repeating: "[", count: 100) + String(repeating: "]", count: 100)
        let words = load("version: 1\nroutes: \(deep)" + "\n").words
        #expect(words.contains { $0.contains("too-deep") })
    }

    @Test func `a file that is missing or too large is said so`() {
        let none = GatewayConfig.load(
            "x.yaml",
            environment: ConfigEnvironment(variables: [:], readFile: { _ in .failure(.missing) }))
        #expect(
            none.diagnostics.map(\.description) == [
                "x.yaml:1:1: missing-file: there is no such file"
            ])
        let large = GatewayConfig.load(
            "x.yaml",
            environment: ConfigEnvironment(variables: [:], readFile: { _ in .failure(.tooLarge) }))
        #expect(large.diagnostics.first?.code == "missing-file")
    }

    @Test func `secrets do not show in names that are unknown`() {
        let words = load(
            """
            version: 1
            plugins:
              z: { library: Z }
            routes:
              - { name: r, from: "${env:S}", send: { ios: "${env:S}" } }
            """, variables: ["S": "hunter2"]
        ).words
        #expect(words.count == 2)
        #expect(!words.description.contains("hunter2"))
    }

    @Test(arguments: [
        ("127.0.0.1:80", "127.0.0.1", 80), (":0", "0.0.0.0", 0), ("[::1]:9", "::1", 9),
        ("host.example:443", "host.example", 443),
    ])
    func `addresses`(text: String, host: String, port: Int) {
        #expect(ListenAddress(text) == ListenAddress(host: host, port: port))
    }

    @Test(arguments: ["", "host", "host:", "host:70000", "::1:80", "a b:1", "http://h:1", "[::1:1"])
    func `what is no address`(text: String) {
        #expect(ListenAddress(text) == nil)
    }

    @Test func `texts come by locale, and by their names in the app`() throws {
        let (config, words) = load(
            """
            version: 1
            plugins:
              z: { library: Z }
              a: { library: A }
            texts:
              reply: { default: "Reply to {{ id }}", de: "Antwort auf {{ id }}" }
            routes:
              - name: one
                from: z
                build:
                  set:
                    title: "{{ texts.reply }}!"
                    body: { loc_key: REPLY, loc_args: ["{{ id }}", "x"], text: "from {{ id }}" }
                send: { ios: a }
                deliver: { collapse: "{{ texts.reply | truncate: 3 }}" }
            """)
        #expect(words == [])
        let route = try #require(config.routes.first?.route)
        #expect(route.set.readsRecipient)
        let fields = EventFields(
            event: Event(type: "t"), data: JSONValue.object([.init("id", .string("5"))]))
        func made(_ locale: String) -> PushNotification {
            var note = PushNotification()
            let recipient = Recipient(device: Device(token: "t", locale: locale))
            route.set.apply(
                to: &note, dataObject: .null, fields: fields, recipient: recipient)
            return note
        }
        #expect(made("de-AT").title == "Antwort auf 5!" && made("").title == "Reply to 5!")
        #expect(made("").body == "from 5")
        #expect(
            made("").overrides == [
                PayloadOverride(
                    family: "localized",
                    json: #"{"body":{"loc_key":"REPLY","loc_args":["5","x"]}}"#)
            ])
    }

    @Test func `a pipe and a device are no files, and reading them waits for nobody`() throws {
        let folder = FileManager.default.temporaryDirectory.appending(path: UUID().uuidString)
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: folder) }
        let pipe = folder.appending(path: "pipe").path
        #expect(mkfifo(pipe, 0o600) == 0)
        for path in [pipe, "/dev/zero"] {
            guard case .failure(.notAFile) = ConfigEnvironment.read(path) else {
                Issue.record("\(path) was read")
                continue
            }
        }
    }
}
