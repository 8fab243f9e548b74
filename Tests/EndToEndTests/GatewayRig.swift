import Foundation
import Logging
import PluginRig
import Signalbox
import SignalboxConfig
import SignalboxCore
import SignalboxHTTP
import SignalboxJSON
import SignalboxPluginHost
import SignalboxSimulators
import Synchronization
import Testing

/// Simulators, a gateway with its own configuration, and a client.
final class GatewayRig: Sendable {
    let simulators: Simulators
    let gateway: Gateway
    let client: RESTClient
    let log: LineStore
    let folder: URL

    /// A route with quick retries from `/in/z` to both simulators.
    static let routes = """
        retry: { quick: { initial: 10ms, factor: 1.5, max: 200ms, retries: 100 } }
        routes:
          - name: replies
            from: z
            when: { type: ticket.replied }
            send: { ios: apns, android: fcm }
            deliver: { retry: quick, expires: 1h }
        """

    static func plugins(_ simulators: Simulators, timeoutMs: Int = 10_000) -> String {
        """
        version: 1
        gateway: { listen: "127.0.0.1:0", admin: "127.0.0.1:0", drain: 5s }
        plugins:
          z: { library: Zendesk, config: { path: /in/z } }
          apns:
            library: APNs
            config:
              team_id: SIMTEAM001
              key_id: SIMKEY0001
              key: "${file:\(simulators.files.apnsKey)}"
              topic: com.example.app
              endpoint: "\(simulators.apns.origin)"
              ca: "\(simulators.files.ca)"
              token_check: lenient
              request_timeout_ms: \(timeoutMs)
          fcm:
            library: FCM
            config:
              service_account: "${file:\(simulators.files.serviceAccount)}"
              endpoint: "\(simulators.fcm.origin)"
              ca: "\(simulators.files.ca)"
              request_timeout_ms: \(timeoutMs)
        """
    }

    /// The configuration of most tests.
    static func yaml(_ simulators: Simulators) -> String { plugins(simulators) + "\n" + routes }

    /// The file of the gateway `name`, which shares a database with others.
    static func file(
        _ name: String, on database: PostgresDatabase, _ yaml: String
    ) throws -> String {
        let store = "gateway: { name: \(name), store: { postgres: \"\(database.address)\" }, "
        return try ProgramTests.temporary(
            "gateway.yaml", yaml.replacing("gateway: { ", with: store))
    }

    init(
        _ options: SimulatorsOptions = .init(), timeoutMs: Int = 10_000,
        clock: (@Sendable () -> UInt64)? = nil, dataBytesMax: Int = 0,
        change: (inout GatewayOptions) -> Void = { _ in },
        config: (Simulators) -> String = { yaml($0) },
        prepare: (Simulators, URL) async throws -> Void = { _, _ in }
    ) async throws {
        var options = options
        // A listener that closes must find its port free when it reopens.
        if options.apnsPort == 0 { options.apnsPort = try OwnPort.take() }
        if options.fcmPort == 0 { options.fcmPort = try OwnPort.take() }
        simulators = try await Simulators.start(options)
        folder = FileManager.default.temporaryDirectory.appending(path: UUID().uuidString)
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        let file = folder.appending(path: "gateway.yaml")
        try config(simulators).write(to: file, atomically: true, encoding: .utf8)
        // Secrets are written in it.
        chmod(file.path, 0o600)
        try await prepare(simulators, folder)
        let log = LineStore()
        self.log = log
        var gatewayOptions = GatewayOptions(configPath: file.path)
        gatewayOptions.logger = Logger(label: "test") { _ in StoreHandler(store: log) }
        gatewayOptions.addPluginFolders([try Self.pluginFolder()])
        gatewayOptions.dataBytesMax = dataBytesMax
        if let clock { gatewayOptions.nowUnixMs = clock }
        gatewayOptions.setRunner(try PluginRig.runner())
        change(&gatewayOptions)
        gateway = try await Gateway.start(gatewayOptions)
        client = try RESTClient()
    }

    static func pluginFolder() throws -> String {
        URL(filePath: try PluginRig.bundled("APNs")).deletingLastPathComponent().path
    }

    static func webhook(_ devices: [(type: String, token: String)], ticket: String = "5") -> String
    {
        let list = devices.map { #"{"identifier":"\#($0.token)","type":"\#($0.type)"}"# }
        return """
            {"devices":[\(list.joined(separator: ","))],
             "notification":{"title":"T","body":"secret-body","ticket_id":"\(ticket)"}}
            """
    }

    @discardableResult
    func post(
        _ body: String, path: String = "/in/z", method: String = "POST",
        headers: [(String, String)] = []
    ) async throws -> RESTAnswer {
        try await client.patient(
            RESTCall(
                method: method, url: "http://127.0.0.1:\(gateway.port)\(path)",
                headers: headers.map { Attribute($0.0, $0.1) }, body: Array(body.utf8)))
    }

    func admin(_ path: String) async throws -> RESTAnswer {
        let port = try #require(gateway.adminPort)
        return try await client.patient(
            RESTCall(method: "GET", url: "http://127.0.0.1:\(port)\(path)"))
    }

    /// What the admin listener answers, as JSON.
    func json(_ path: String) async throws -> JSONValue {
        try JSONValue.parse(try await admin(path).body)
    }

    var metrics: String { gateway.metricsText }

    var file: URL { folder.appending(path: "gateway.yaml") }

    /// What is in gateway.yaml.
    var text: String { get throws { try String(contentsOf: file, encoding: .utf8) } }

    /// Replaces gateway.yaml.
    func write(_ yaml: String) throws {
        try yaml.write(to: file, atomically: true, encoding: .utf8)
    }

    /// Another gateway on the same folder, once this one has stopped.
    func successor(
        _ change: (inout GatewayOptions) -> Void = { _ in }
    ) async throws -> Gateway {
        var options = GatewayOptions(configPath: file.path)
        options.addPluginFolders([try Self.pluginFolder()])
        options.silence()
        change(&options)
        return try await Gateway.start(options)
    }

    /// Tokens that a simulator has accepted; waits for `count` of them, at most two minutes.
    func delivered(_ simulator: Simulator, _ count: Int) async -> [String] {
        var want = count
        for _ in 0..<2_000 {
            let all = await simulator.wait(for: want, timeoutMs: 120_000)
            let taken = all.filter { $0.status == 200 }.map(\.token)
            if taken.count >= count || all.count < want { return taken }
            want = all.count + 1
        }
        return []
    }

    func end() async {
        await gateway.stop()
        client.shutdown()
        await simulators.shutdown()
        try? FileManager.default.removeItem(at: folder)
    }
}

/// Log lines of a gateway.
final class LineStore: Sendable {
    private let lines = Mutex<[String]>([])

    func add(_ line: String) { lines.withLock { $0.append(line) } }
    var all: [String] { lines.withLock { $0 } }
}

struct StoreHandler: LogHandler {
    let store: LineStore
    var metadata: Logger.Metadata = [:]
    var logLevel = Logger.Level.trace

    subscript(metadataKey key: String) -> Logger.Metadata.Value? {
        get { metadata[key] }
        set { metadata[key] = newValue }
    }

    func log(event: LogEvent) {
        let fields = (event.metadata ?? [:]).map { "\($0.key)=\($0.value)" }.sorted()
        store.add("\(event.level) \(event.message) \(fields.joined(separator: " "))")
    }
}

extension RESTClient {
    /// Gets an answer, however busy the machine is.
    func patient(_ call: RESTCall) async throws -> RESTAnswer {
        var call = call
        call.timeoutMs = 120_000
        return try await answer(call)
    }

    /// Posts a webhook to the program of a gateway.
    func post(
        _ devices: [(type: String, token: String)], ticket: String = "5",
        to port: some CustomStringConvertible
    ) async throws -> RESTAnswer {
        try await patient(
            RESTCall(
                method: "POST", url: "http://127.0.0.1:\(port)/in/z",
                body: Array(GatewayRig.webhook(devices, ticket: ticket).utf8)))
    }
}

/// Waits, at most two minutes, until a condition holds.
func until(
    _ what: String = "what was waited for", at place: SourceLocation = #_sourceLocation,
    _ holds: () throws -> Bool
) async throws {
    for _ in 0..<60_000 {
        if try holds() { return }
        try await Task.sleep(for: .milliseconds(2))
    }
    Issue.record("never: \(what)", sourceLocation: place)
}

extension Simulators {
    /// The tokens to which APNs and FCM have accepted no push after two minutes.
    func missing(of tokens: some Sequence<String>) async throws -> Set<String> {
        var missing = Set(tokens)
        for _ in 0..<6_000 where !missing.isEmpty {
            let pushes = apns.received + fcm.received
            missing.subtract(pushes.filter { $0.status == 200 }.map(\.token))
            if !missing.isEmpty { try await Task.sleep(for: .milliseconds(20)) }
        }
        return missing
    }
}
