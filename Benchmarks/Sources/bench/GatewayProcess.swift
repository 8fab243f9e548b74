import Foundation

/// A `signalbox run` with its own configuration.
final class GatewayProcess {
    private let child: Child
    let port: Int
    let data: String
    var facts: ProcessFacts { ProcessFacts(pid: child.process.processIdentifier) }

    /// Starts a gateway; its database is new unless `data` is given.
    init(_ bench: Bench, _ yaml: String, data: String? = nil) throws {
        self.data = try data ?? bench.fresh("data")
        let file = bench.folder + "/gateway.yaml"
        try yaml.write(toFile: file, atomically: true, encoding: .utf8)
        port = 20_000 + Int.random(in: 0..<12_000)
        setenv("BENCH_LISTEN", "127.0.0.1:\(port)", 1)
        setenv("BENCH_DATA", self.data, 1)
        // Log lines are not measured, and a dead provider causes many.
        child = try Child([bench.signalbox, "run", "--config", file], isQuiet: true)
        try Self.waitUntilItAnswers(port, child, seconds: 60)
    }

    static func waitUntilItAnswers(_ port: Int, _ child: Child, seconds: Double) throws {
        let deadline = Date().addingTimeInterval(seconds)
        while !answers(port) {
            guard child.process.isRunning, Date() < deadline else {
                throw Failure("the gateway does not begin to listen")
            }
            usleep(10_000)
        }
    }

    func stop() { child.stop() }

    private static func answers(_ port: Int) -> Bool {
        let descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
        defer { close(descriptor) }
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_port = in_port_t(UInt16(port).bigEndian)
        address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
        return withUnsafePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                connect(descriptor, $0, socklen_t(MemoryLayout<sockaddr_in>.size)) == 0
            }
        }
    }
}

extension Bench {
    /// A configuration with two routes to the sink, from Zendesk's webhook and from CloudEvents.
    ///
    /// `senders`: the apps of each further APNs instance, for events of the types
    /// `parcel.sent1`, ....
    func yaml(
        sinkPort: Int, routes: Int = 1, senders: [[String]] = [], when: String? = nil,
        postgres: String? = nil, keepsHistory: Bool = true
    ) -> String {
        var text = """
            version: 1
            gateway:
              listen: "${env:BENCH_LISTEN:-127.0.0.1:0}"
              admin: false
              data: "${env:BENCH_DATA:-data}"
              log: { level: warning }
            \(keepsHistory ? "" : "  history: false\n")\(postgres.map { "  store: { postgres: \"\($0)\" }\n" } ?? "")\
            plugins:
              zendesk: { library: Zendesk, config: { path: /in/zendesk } }
              events:
                library: CloudEvents
                config:
                  path: /in/events
                  bearer: ["0123456789abcdef"]
                  recipients:
                    - { each: /users, user: ".", app: com.example.app }
                    - { each: /devices, token: /token, platform: ios, app: /app }

            """
        for (number, apps) in ([["com.example.app"]] + senders).enumerated() {
            let topics = apps.dropFirst().map { "\"\($0)\"" }.joined(separator: ", ")
            text += """
                  apns\(number == 0 ? "" : "\(number)"):
                    library: APNs
                    config:
                      team_id: ABCDE12345
                      key_id: FGHIJ67890
                      key: "${file:\(folder)/apns.p8}"
                      topic: \(apps[0])
                      topics: [\(topics)]
                      endpoint: "https://127.0.0.1:\(sinkPort)"
                      ca: "\(folder)/ca.pem"

                """
        }
        text += "routes:\n"
        for number in 1..<senders.count + 1 {
            text +=
                "  - {name: shop\(number), from: events, when: {type: parcel.sent\(number)}, "
                + "build: {with: events}, send: {ios: apns\(number)}}\n"
        }
        // All but the last are for events that never occur.
        for number in 1..<max(2, routes) where number < routes {
            // A configuration may have up to 1 MiB.
            text +=
                "  - {name: n\(number), from: zendesk, when: {type: n.\(number)}, "
                + "build: {with: zendesk}, send: {ios: apns}}\n"
        }
        text += """
              - name: support
                from: zendesk
            \(when.map { "    when: { type: \($0) }\n" } ?? "")\
                build: { with: zendesk }
                send: { ios: apns }
              - name: shop
                from: events
                when: { type: parcel.sent }
                build: { with: events }
                send: { ios: apns }

            """
        return text
    }
}
