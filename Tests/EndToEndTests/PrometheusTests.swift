import Foundation
import PluginRig
import SignalboxCore
import SignalboxCrypto
import SignalboxHTTP
import SignalboxJSON
import SignalboxSimulators
import Testing

/// The dashboard and the alert rules of deploy/, with a real Prometheus.
@Suite(.timeLimit(.minutes(5))) struct PrometheusTests {
    private static let folder = PluginRig.root.appending(path: "deploy")

    @Test func `promtool accepts the alert rules, and their tests pass`() async throws {
        let rules = Self.folder.appending(path: "prometheus/alerts.yaml").path
        let tests = Self.folder.appending(path: "prometheus/alerts.test.yaml").path
        for command in [["check", "rules", rules], ["test", "rules", tests]] {
            let said = try await Tool.run(["promtool"] + command)
            #expect(said.status == 0, "\(said.text)")
        }
    }

    @Test func `each query of the dashboard and of the alerts works on gateways under faults`()
        async throws
    {
        let crm = try await OutcomeTests.Receiver.start()
        crm.answers(401)
        let rig = try await Self.faulty(crm)
        let secure = try await Self.secure()
        let prometheus = try await Self.start(
            [rig, secure].map { $0.gateway.adminPort ?? 0 }, rig.client)
        for (number, query) in try Self.queries().enumerated() {
            // Each has values while a gateway works: new ones, for rates over the last seconds.
            let devices = [("ios", "a\(number)"), ("ios", "dead"), ("android", "b\(number)")]
            try await rig.post(GatewayRig.webhook(devices, ticket: "\(number)"))
            let count = try await prometheus.count(query, isDue: Self.hasData(query))
            #expect(count > 0 || !Self.hasData(query), "no data: \(query)")
        }
        let rules = try await prometheus.rules()
        #expect(rules.count == 29)
        for rule in rules {
            let name = try #require(rule["name"]?.string)
            #expect(rule["health"]?.string == "ok", "\(name): \(rule["lastError"]?.string ?? "")")
        }
        func query(_ alert: String) throws -> String {
            try #require(rules.first { $0["name"]?.string == alert }?["query"]?.string)
        }
        for alert in [
            "SignalboxSenderHeld", "SignalboxReloadRejected", "SignalboxOutcomesHeld",
            "SignalboxCertificateExpires",
        ] {
            #expect(try await prometheus.count(query(alert), isDue: true) > 0, "\(alert)")
        }
        for alert in ["SignalboxDown", "SignalboxDiskFull", "SignalboxDatabaseGone"] {
            #expect(try await prometheus.count(query(alert), isDue: false) == 0, "\(alert)")
        }
        try await prometheus.end()
        await secure.end()
        await rig.end()
    }

    /// What only PostgreSQL, or a plugin's own reason, has.
    private static func hasData(_ query: String) -> Bool {
        ![
            "signalbox_store_jobs", "signalbox_store_refused", "signalbox_store_timeouts",
            "signalbox_store_commits", "signalbox_store_connects", "items_rejected",
        ].contains { query.contains($0) }
    }

    // MARK: Gateways

    /// One provider is down, one rejects a token, the receiver rejects outcomes, and a reload was rejected.
    private static func faulty(_ crm: OutcomeTests.Receiver) async throws -> GatewayRig {
        let rig = try await GatewayRig(
            config: {
                GatewayRig.yaml($0).replacingOccurrences(
                    of: "library: Zendesk,", with: "library: Zendesk, isolation: process,")
                    + "\noutcomes:\n  - " + OutcomeTests.receiver(crm)
            },
            prepare: { simulators, _ in
                try await simulators.fcm.take(.closeListener(cut: true))
                try await simulators.apns.take(
                    .fail(
                        tokens: ["dead"], status: 400, reason: "BadDeviceToken", times: nil))
            })
        await #expect(throws: (any Error).self) { try await rig.gateway.reload(text: "x: 1") }
        return rig
    }

    /// One with TLS, whose certificate ends in a week.
    private static func secure() async throws -> GatewayRig {
        let tls = #"tls: { certificate: "${file:tls.crt}", key: "${file:tls.key}" }"#
        return try await GatewayRig(
            config: {
                GatewayRig.yaml($0)
                    .replacing("drain: 5s", with: "drain: 5s, \(tls)")
            },
            prepare: { _, folder in
                let authority = try ThrowAway.certificateAuthority(name: "a")
                let identity = try ThrowAway.serverIdentity(days: 7, authority: authority)
                try Data(identity.certificatePEM).write(to: folder.appending(path: "tls.crt"))
                try Data(identity.privateKeyPEM).write(to: folder.appending(path: "tls.key"))
            })
    }

    // MARK: Prometheus

    /// The queries of the dashboard, as Grafana would send them.
    private static func queries() throws -> [String] {
        let file = folder.appending(path: "grafana/signalbox.json")
        let board = try JSONValue.parse(Array(try Data(contentsOf: file)))
        let panels = try #require(board["panels"]?.items)
        let found = panels.flatMap { $0["targets"]?.items ?? [] }.compactMap {
            $0["expr"]?.string
        }
        #expect(found.count > 60)
        return found.map {
            $0.replacing("$job", with: "signalbox").replacing("$instance", with: ".*")
                .replacing("$sender", with: ".*").replacing("$__rate_interval", with: "30s")
        }
    }

    private static func start(_ ports: [Int], _ client: RESTClient) async throws -> Prometheus {
        let targets = ports.map { "\"127.0.0.1:\($0)\"" }.joined(separator: ", ")
        let file = try ProgramTests.temporary(
            "prometheus.yaml",
            """
            global: { scrape_interval: 500ms, evaluation_interval: 500ms }
            rule_files: ["\(folder.appending(path: "prometheus/alerts.yaml").path)"]
            scrape_configs:
              - job_name: signalbox
                static_configs: [{ targets: [\(targets)] }]
            """)
        let port = try OwnPort.take()
        let pipe = Pipe()
        let process = try Program(
            [
                "prometheus", "--config.file=\(file)", "--web.listen-address=127.0.0.1:\(port)",
                "--storage.tsdb.path=\(try Workshop.folder().path)", "--log.level=warn",
            ], at: PluginRig.root, output: pipe, errors: pipe)
        pipe.fileHandleForReading.readabilityHandler = { _ = $0.availableData }
        let made = Prometheus(port: port, process: process, pipe: pipe, client: client)
        try await made.ready()
        return made
    }
}

/// A Prometheus that runs.
private struct Prometheus {
    let port: Int
    let process: Program
    let pipe: Pipe
    let client: RESTClient

    func ready() async throws {
        for _ in 0..<3_000 {
            if let answer = try? await get("/-/ready"), answer.status == 200 { return }
            try await Task.sleep(for: .milliseconds(20))
        }
        Issue.record("Prometheus does not answer")
    }

    func end() async throws {
        process.terminate()
        _ = try await Tool.end(process)
        pipe.fileHandleForReading.readabilityHandler = nil
    }

    /// How many series a query has; if some are due, once there are.
    func count(_ query: String, isDue: Bool) async throws -> Int {
        let text = query.addingPercentEncoding(withAllowedCharacters: .alphanumerics) ?? ""
        for _ in 0..<3_000 {
            let said = try JSONValue.parse(try await get("/api/v1/query?query=\(text)").body)
            try #require(said["status"]?.string == "success", "\(query): \(said.text)")
            let count = said["data"]?["result"]?.items?.count ?? 0
            if count > 0 || !isDue { return count }
            try await Task.sleep(for: .milliseconds(20))
        }
        return 0
    }

    /// The rules, once each was evaluated.
    func rules() async throws -> [JSONValue] {
        for _ in 0..<3_000 {
            let said = try JSONValue.parse(try await get("/api/v1/rules").body)
            let groups = said["data"]?["groups"]?.items ?? []
            let rules = groups.flatMap { $0["rules"]?.items ?? [] }
            if !rules.isEmpty, rules.allSatisfy({ $0["health"]?.string != "unknown" }) {
                return rules
            }
            try await Task.sleep(for: .milliseconds(20))
        }
        return []
    }

    private func get(_ path: String) async throws -> RESTAnswer {
        try await client.patient(
            RESTCall(method: "GET", url: "http://127.0.0.1:\(port)\(path)"))
    }
}

extension JSONValue {
    var items: [JSONValue]? { if case .array(let items) = self { items } else { nil } }
}
