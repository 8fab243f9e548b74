import Foundation
import NIOCore
import NIOPosix
import PluginRig
import SignalboxCore
import SignalboxCrypto
import SignalboxHTTP
import SignalboxSimulators
import Synchronization
import Testing

/// What the test server does with one request.
enum Order: Sendable {
    case answer(Int, String)
    case refuse, reset, stall, drop
    /// Answered when the test calls `release`.
    case hold
    case answerLater(ms: Int)
    case goAway(includingThis: Bool, debug: String)
    case trailers([Attribute])
}

/// Answers by script: first the orders in turn, then 200.
final class ScriptedHandler: HTTP2ServerHandler {
    private struct State: Sendable {
        var orders: [Order] = []
        var seen: [HTTP2ServerRequest] = []
        var open = 0
        var openMax = 0
        var held: [HTTP2ServerStream] = []
        var freeNs: UInt64 = 0
    }
    private let state = Mutex(State())
    private let holdMs: Int
    private let paceMs: Int
    private let swallowing: Set<UInt64>

    /// `swallowing` connections answer nothing; with `paceMs` answers come this far apart.
    init(
        _ orders: [Order] = [], holdMs: Int = 0, paceMs: Int = 0, swallowing: Set<UInt64> = []
    ) {
        state.withLock { $0.orders = orders }
        self.holdMs = holdMs
        self.paceMs = paceMs
        self.swallowing = swallowing
    }

    /// Answers the held requests.
    func release() {
        let held = state.withLock { state in
            defer { state.held = [] }
            return state.held
        }
        for stream in held { stream.respond(status: 200) }
    }

    private func turnMs() -> Int {
        let now = DispatchTime.now().uptimeNanoseconds
        return state.withLock { state in
            state.freeNs = max(now, state.freeNs) + UInt64(paceMs) * 1_000_000
            return Int((state.freeNs - now) / 1_000_000)
        }
    }

    var seen: [HTTP2ServerRequest] { state.withLock { $0.seen } }
    var paths: [String] { seen.map(\.path) }
    var openMax: Int { state.withLock { $0.openMax } }

    func handle(_ request: HTTP2ServerRequest, on stream: HTTP2ServerStream) {
        let order = state.withLock { state -> Order? in
            state.seen.append(request)
            if swallowing.contains(request.connection) { return .stall }
            return state.orders.isEmpty ? nil : state.orders.removeFirst()
        }
        switch order {
        case nil where paceMs > 0: stream.respond(afterMs: turnMs(), status: 200)
        case nil where holdMs > 0: stream.respond(afterMs: holdMs, status: 200)
        case nil: stream.respond(status: 200)
        case .answer(let status, let body):
            stream.respond(status: status, headers: [Attribute("x-a", "b")], body: Array(body.utf8))
        case .trailers(let fields):
            stream.respond(
                status: 200, headers: [Attribute("x-a", "b")], body: Array("{}".utf8),
                trailers: fields)
        case .refuse: stream.refuse()
        case .reset: stream.reset()
        case .stall: break
        case .hold: state.withLock { $0.held.append(stream) }
        case .drop: stream.dropConnection()
        case .answerLater(let ms): stream.respond(afterMs: ms, status: 200)
        case .goAway(let includingThis, let debug):
            if includingThis { stream.respond(afterMs: 20, status: 200) }
            stream.goAway(includingThis: includingThis, debugData: debug)
        }
    }
}

/// Finds two addresses: an IPv6 one, and the server's.
private struct Addresses: Resolver, Sendable {
    let first: SocketAddress
    let server: Int
    private var loop: any EventLoop { MultiThreadedEventLoopGroup.singleton.any() }

    func initiateAQuery(host: String, port: Int) -> EventLoopFuture<[SocketAddress]> {
        loop.submit { [try SocketAddress(ipAddress: "127.0.0.1", port: server)] }
    }
    func initiateAAAAQuery(host: String, port: Int) -> EventLoopFuture<[SocketAddress]> {
        loop.makeSucceededFuture([first])
    }
    func cancelQueries() {}
}

/// A server, a pool connected to it, and the results as they arrive.
final class PushRig: Sendable {
    private struct Waiter {
        var id: UInt64
        var count: Int
        var continuation: CheckedContinuation<Void, Never>
    }
    private struct State {
        var results: [PushResult] = []
        var events: [PushPoolEvent] = []
        var waiters: [Waiter] = []
        var nextWaiter: UInt64 = 0
    }

    static let authority = Result { try ThrowAway.certificateAuthority(name: "test CA") }

    let handler: ScriptedHandler
    let server: HTTP2Server
    let engine: PushEngine
    let endpoint: PushEndpoint
    let pool: PushPool
    private let state: StateBox
    private let folder: URL
    var caFile: String { folder.appending(path: "ca.pem").path }

    /// `Mutex` as a class, so that closures made before `self` can hold it.
    private final class StateBox: Sendable {
        let mutex = Mutex(State())

        func add(_ change: (inout sending State) -> Void) {
            let ready = mutex.withLock { state -> [CheckedContinuation<Void, Never>] in
                change(&state)
                let count = state.results.count
                let due = state.waiters.filter { $0.count <= count }.map(\.continuation)
                state.waiters.removeAll { $0.count <= count }
                return due
            }
            for continuation in ready { continuation.resume() }
        }
    }

    init(
        _ orders: [Order] = [], holdMs: Int = 0, paceMs: Int = 0, swallowing: Set<UInt64> = [],
        offersALPN: Bool = true, streams: UInt32 = 1000, serverConnectionsMax: Int? = nil,
        trustsServer: Bool = true, firstAddress: SocketAddress? = nil,
        configure: (inout PushEndpoint) -> Void = { _ in },
        maySend: @escaping @Sendable () -> Bool = { true }
    ) async throws {
        folder = FileManager.default.temporaryDirectory.appending(path: UUID().uuidString)
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        let authority = try Self.authority.get()
        let trusted =
            trustsServer ? authority : try ThrowAway.certificateAuthority(name: "stranger")
        let caFile = folder.appending(path: "ca.pem")
        try Data(trusted.certificatePEM).write(to: caFile)
        let identity = try ThrowAway.serverIdentity(
            names: ["localhost", "provider.test"], authority: authority)
        handler = ScriptedHandler(
            orders, holdMs: holdMs, paceMs: paceMs, swallowing: swallowing)
        var options = HTTP2ServerOptions(
            certificateChainPEM: identity.certificatePEM, privateKeyPEM: identity.privateKeyPEM)
        options.offersALPN = offersALPN
        options.maxConcurrentStreams = streams
        options.connectionsMax = serverConnectionsMax
        // A listener that closes must find its port free when it reopens.
        options.port = try OwnPort.take()
        server = try await HTTP2Server.start(options, handler: handler)
        engine = try PushEngine(
            threads: 1,
            resolver: firstAddress.map { [server] in Addresses(first: $0, server: server.port) })
        // A literal address is not resolved.
        let host = firstAddress == nil ? "127.0.0.1" : "localhost"
        var endpoint = try PushEndpoint(origin: "https://\(host):\(server.port)")
        endpoint.caFile = caFile.path
        // Enough even on a busy machine.
        endpoint.requestTimeoutMs = 120_000
        configure(&endpoint)
        self.endpoint = endpoint
        let box = StateBox()
        state = box
        pool = try engine.makePool(
            endpoint: endpoint,
            onResults: { results in box.add { $0.results += results } },
            onEvent: { event in box.add { $0.events.append(event) } }, maySend: maySend)
    }

    var events: [PushPoolEvent] { state.mutex.withLock { $0.events } }
    var results: [PushResult] { state.mutex.withLock { $0.results } }

    /// Submits requests `/1`, `/2`, ... in one batch.
    func submit(
        _ numbers: ClosedRange<Int>, body: String = "{}", authorization: String = "bearer x"
    ) {
        pool.submit(Self.batch(numbers, body: body, authorization: authorization))
    }

    static func batch(
        _ numbers: ClosedRange<Int>, body: String = "{}", authorization: String = "bearer x"
    ) -> RequestBatch {
        var batch = RequestBatch()
        for number in numbers {
            let method = batch.append(bytes: Array("POST".utf8))
            let path = batch.append(bytes: Array("/\(number)".utf8))
            let text = batch.append(bytes: Array(body.utf8))
            let name = batch.append(bytes: Array("authorization".utf8))
            let value = batch.append(bytes: Array(authorization.utf8))
            batch.append(header: .init(name: name, value: value))
            batch.append(item: UInt64(number))
            batch.appendRequest(method: method, path: path, body: text)
        }
        return batch
    }

    /// Waits for `count` results, at most a hundred seconds.
    ///
    /// A test that misses one must fail without delaying the others.
    func wait(for count: Int) async -> [PushResult] {
        let id = state.mutex.withLock { state in
            state.nextWaiter += 1
            return state.nextWaiter
        }
        let timer = Task {
            try await Task.sleep(for: .seconds(100))
            let late = state.mutex.withLock { state -> CheckedContinuation<Void, Never>? in
                guard let index = state.waiters.firstIndex(where: { $0.id == id }) else {
                    return nil
                }
                return state.waiters.remove(at: index).continuation
            }
            late?.resume()
        }
        await withCheckedContinuation { continuation in
            state.add {
                $0.waiters.append(Waiter(id: id, count: count, continuation: continuation))
            }
        }
        timer.cancel()
        return results
    }

    /// Results by item: a status, or the name of a fault.
    func outcomes(_ count: Int) async -> [UInt64: String] {
        var out: [UInt64: String] = [:]
        for result in await wait(for: count) where !result.isLate {
            let text =
                switch result.answer {
                case .response(let response): String(response.status)
                case .fault(let fault): fault.rawValue
                }
            for item in result.items {
                #expect(out[item] == nil, "item \(item) has two results")
                out[item] = text
            }
        }
        return out
    }

    func end() async {
        await pool.shutdown(deadlineMs: 1_000)
        await server.shutdown()
        await engine.shutdown()
        try? FileManager.default.removeItem(at: folder)
    }
}
