import Foundation
import Logging
import PluginRig
import Signalbox
import SignalboxCore
import SignalboxCrypto
import SignalboxHTTP
import SignalboxJSON
import SignalboxSimulators
import Synchronization
import Testing

/// A gateway with one of `Examples/`, with simulators and fakes of the systems around it.
final class ExampleRig: Sendable {
    static let app = "com.example.app"
    let simulators: Simulators
    let gateway: Gateway
    let client: RESTClient
    let log = LineStore()
    private let data: URL

    init(
        _ name: String, variables: [String: String] = [:], simulators given: Simulators? = nil,
        yaml: ((String) -> String)? = nil
    ) async throws {
        let simulators =
            if let given { given } else { try await Simulators.start() }
        self.simulators = simulators
        client = try RESTClient()
        data = FileManager.default.temporaryDirectory.appending(path: UUID().uuidString)
        try FileManager.default.createDirectory(at: data, withIntermediateDirectories: true)
        var path = PluginRig.root.appending(path: "Examples/\(name)/gateway.yaml").path
        if let yaml {
            let text = yaml(try String(contentsOfFile: path, encoding: .utf8))
            let changed = data.appending(path: "gateway.yaml")
            try text.write(to: changed, atomically: true, encoding: .utf8)
            path = changed.path
        }
        var options = GatewayOptions(configPath: path)
        let log = log
        options.logger = Logger(label: "test") { _ in StoreHandler(store: log) }
        options.addPluginFolders([try GatewayRig.pluginFolder()])
        options.dataFolder = data.path
        var all = simulators.variables
        all["SIGNALBOX_LISTEN"] = "127.0.0.1:0"
        all["SIGNALBOX_ADMIN"] = "127.0.0.1:0"
        all["DEVICES_TOKEN"] = "token-of-the-backend"
        all.merge(variables) { $1 }
        options.overlay(
            variables: all,
            files: [
                "secrets/apns.p8": simulators.files.apnsKey,
                "secrets/fcm.json": simulators.files.serviceAccount,
            ])
        gateway = try await Gateway.start(options)
    }

    func end(keepingSimulators: Bool = false) async {
        await gateway.stop()
        client.shutdown()
        if !keepingSimulators { await simulators.shutdown() }
        try? FileManager.default.removeItem(at: data)
    }

    func call(
        _ method: String, _ path: String, _ body: String = "", headers: [(String, String)] = []
    ) async throws -> (status: UInt32, json: JSONValue, answer: RESTAnswer) {
        let call = RESTCall(
            method: method, url: "http://127.0.0.1:\(gateway.port)\(path)",
            headers: headers.map { Attribute($0.0, $0.1) }, body: Array(body.utf8))
        let answer = try await client.patient(call)
        return (answer.status, (try? JSONValue.parse(answer.body)) ?? .null, answer)
    }

    /// Calls, and expects this status.
    @discardableResult
    func expect(
        _ status: UInt32, _ method: String, _ path: String, _ body: String = "",
        headers: [(String, String)] = [], at place: SourceLocation = #_sourceLocation
    ) async throws -> JSONValue {
        let (given, json, _) = try await call(method, path, body, headers: headers)
        #expect(given == status, "\(method) \(path): \(json.text)", sourceLocation: place)
        return json
    }

    /// The tokens of a user's devices.
    func tokens(of user: String) async throws -> [String] {
        let list = try await expect(
            200, "GET", "/v1/devices?user=\(user)",
            headers: [("authorization", "Bearer token-of-the-backend")])
        return (list["devices"]?.items ?? []).compactMap { $0["token"]?.string }
    }

    /// Waits up to half a minute for a log line with these words.
    func logs(_ words: String) async throws -> Bool {
        for _ in 0..<30_000 {
            if log.all.contains(where: { $0.contains(words) }) { return true }
            try await Task.sleep(for: .milliseconds(1))
        }
        return false
    }

    /// Registers a device as the app's server does.
    func register(_ user: String, _ token: String, _ platform: String, locale: String = "")
        async throws
    {
        let body =
            #"{"user":"\#(user)","token":"\#(token)","platform":"\#(platform)","locale":"\#(locale)"}"#
        try await expect(
            200, "POST", "/v1/devices", body,
            headers: [("authorization", "Bearer token-of-the-backend")])
    }

    /// The first push to a token for which `isWanted` holds.
    func push(
        _ simulator: Simulator, to token: String,
        where isWanted: (ReceivedPush) -> Bool = { _ in true }
    ) async throws -> ReceivedPush {
        var count = 1
        for _ in 0..<1_000 {
            let all = await simulator.wait(for: count, timeoutMs: 60_000)
            if let found = all.first(where: { $0.token == token && isWanted($0) }) { return found }
            guard all.count >= count else { break }
            count = all.count + 1
        }
        throw PluginRig.Failure(
            description: "no push came: \(log.all.suffix(20).joined(separator: "\n"))")
    }
}

/// A fake of a vendor's REST API: answers by a closure and records the requests.
final class VendorAPI: AsyncHTTPServerHandler {
    typealias Answer = @Sendable (HTTPServerRequest) -> HTTPServerAnswer

    private struct State {
        var requests: [HTTPServerRequest] = []
        var waiters: [(count: Int, continuation: CheckedContinuation<Void, Never>)] = []
    }

    private let body: Answer
    private let state = Mutex(State())
    private let server = Mutex<HTTPServer?>(nil)

    private init(_ body: @escaping Answer) { self.body = body }

    static func start(_ body: @escaping Answer) async throws -> VendorAPI {
        let api = VendorAPI(body)
        let server = try await HTTPServer.start(
            HTTPServerOptions(host: "127.0.0.1", port: 0),
            logger: Logger(label: "vendor") { _ in SwiftLogNoOpLogHandler() }, handler: api)
        api.server.withLock { $0 = server }
        return api
    }

    var origin: String { "http://127.0.0.1:\(server.withLock { $0?.port } ?? 0)" }
    var requests: [HTTPServerRequest] { state.withLock { $0.requests } }

    func refusal(method: String, path: String) -> HTTPServerAnswer? { nil }

    func answer(_ request: HTTPServerRequest) async -> HTTPServerAnswer {
        let due = state.withLock { state in
            state.requests.append(request)
            let due = state.waiters.filter { $0.count <= state.requests.count }
            state.waiters.removeAll { $0.count <= state.requests.count }
            return due.map(\.continuation)
        }
        for continuation in due { continuation.resume() }
        return body(request)
    }

    /// Waits for `count` requests, at most a minute.
    func wait(for count: Int) async -> [HTTPServerRequest] {
        let timer = Task {
            try await Task.sleep(for: .seconds(60))
            let due = state.withLock { state in
                defer { state.waiters = [] }
                return state.waiters.map(\.continuation)
            }
            for continuation in due { continuation.resume() }
        }
        defer { timer.cancel() }
        await withCheckedContinuation { continuation in
            let isThere = state.withLock { state in
                guard state.requests.count < count else { return true }
                state.waiters.append((count, continuation))
                return false
            }
            if isThere { continuation.resume() }
        }
        return requests
    }

    /// Waits for a matching request.
    func first(_ isWanted: (HTTPServerRequest) -> Bool) async -> HTTPServerRequest? {
        var count = 1
        while count < 1_000 {
            let all = await wait(for: count)
            if let found = all.first(where: isWanted) { return found }
            guard all.count >= count else { return nil }
            count = all.count + 1
        }
        return nil
    }

    func shutdown() async {
        if let server = server.withLock({ $0 }) { await server.shutdown() }
    }
}
