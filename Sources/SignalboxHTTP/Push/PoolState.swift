/// Decides when a pool connects and where the next request goes. A value without sockets or clock;
/// times are monotonic nanoseconds.
struct PoolState {
    enum Action: Equatable {
        /// Open a connection under this number.
        case connect(UInt64)
        /// Close a connection that has nothing open.
        case close(UInt64)
        /// Ask again at this time.
        case wake(atNs: UInt64)
    }

    private enum Phase { case connecting, ready, draining }

    private struct Connection {
        var id: UInt64
        var phase: Phase
        var open = 0
        var peerMax = 0
        /// A request has succeeded on it, so that the peer allows more than one stream.
        var isProven = false
        var isWritable = true
    }

    private let connectionsMax: Int
    private let streamsMax: Int
    private let isOneStreamFirst: Bool
    private var connections: [Connection] = []
    private var nextID: UInt64 = 1
    private var failures = 0
    private var notBeforeNs: UInt64 = 0
    private(set) var isStopping = false

    static let backoffFirstNs: UInt64 = 100_000_000
    static let backoffMaxNs: UInt64 = 10_000_000_000

    init(connectionsMax: Int, streamsMax: Int, isOneStreamFirst: Bool) {
        self.connectionsMax = max(1, connectionsMax)
        self.streamsMax = streamsMax
        self.isOneStreamFirst = isOneStreamFirst
    }

    var readyCount: Int { connections.count { $0.phase == .ready } }
    var connectingCount: Int { connections.count { $0.phase == .connecting } }
    var drainingCount: Int { connections.count { $0.phase == .draining } }
    var openCount: Int { connections.reduce(0) { $0 + $1.open } }
    var isFailing: Bool { failures > 0 && readyCount == 0 }
    var ids: [UInt64] { connections.map(\.id) }

    /// The connection that takes the next request, or nil.
    func place() -> UInt64? {
        var best: (id: UInt64, room: Int)?
        for connection in connections {
            let room = room(of: connection)
            if room > best?.room ?? 0 { best = (connection.id, room) }
        }
        return best?.id
    }

    /// What to do while `waiting` requests have no place.
    mutating func need(waiting: Int, nowNs: UInt64) -> [Action] {
        guard waiting > 0, !isStopping, connectingCount == 0, place() == nil else { return [] }
        // One that may only carry a single stream, or none yet, is not full: it is being proven.
        let isProving = connections.contains {
            $0.phase == .ready && isOneStreamFirst && !$0.isProven
        }
        guard !isProving, readyCount < connectionsMax else { return [] }
        guard nowNs >= notBeforeNs else { return [.wake(atNs: notBeforeNs)] }
        let id = nextID
        nextID += 1
        connections.append(Connection(id: id, phase: .connecting))
        return [.connect(id)]
    }

    mutating func connected(_ id: UInt64, peerMax: Int) {
        change(id) {
            $0.phase = .ready
            $0.peerMax = peerMax
        }
    }

    /// The connection was never ready. `random` is 0..<1.
    mutating func connectFailed(_ id: UInt64, nowNs: UInt64, random: Double) {
        connections.removeAll { $0.id == id }
        backOff(nowNs: nowNs, random: random)
    }

    private mutating func backOff(nowNs: UInt64, random: Double) {
        failures += 1
        let doubled = Self.backoffFirstNs << UInt64(min(failures - 1, 10))
        let wait = Double(min(doubled, Self.backoffMaxNs)) * (0.8 + 0.4 * random)
        notBeforeNs = nowNs + UInt64(wait)
    }

    mutating func settings(_ id: UInt64, peerMax: Int) { change(id) { $0.peerMax = peerMax } }

    mutating func writability(_ id: UInt64, _ isWritable: Bool) {
        change(id) { $0.isWritable = isWritable }
    }

    mutating func opened(_ id: UInt64) { change(id) { $0.open += 1 } }

    /// A stream ended. `isSuccess`: with a 2xx answer.
    mutating func ended(_ id: UInt64, isSuccess: Bool) -> [Action] {
        change(id) {
            $0.open -= 1
            if isSuccess { $0.isProven = true }
        }
        if isSuccess {
            failures = 0
            notBeforeNs = 0
        }
        return closable(id)
    }

    /// It takes no further request.
    mutating func drain(_ id: UInt64) -> [Action] {
        change(id) { if $0.phase == .ready { $0.phase = .draining } }
        return closable(id)
    }

    /// A connection that was ready has ended; one that never did any good counts as a failed
    /// connect, so that a peer which takes connections and drops them is not called in a loop.
    mutating func closed(_ id: UInt64, nowNs: UInt64, random: Double) {
        let wasProven = connections.first { $0.id == id }?.isProven ?? true
        connections.removeAll { $0.id == id }
        if !wasProven { backOff(nowNs: nowNs, random: random) }
    }

    mutating func stop() -> [Action] {
        isStopping = true
        return ids.flatMap { drain($0) }
    }

    private func closable(_ id: UInt64) -> [Action] {
        connections.contains { $0.id == id && $0.phase == .draining && $0.open == 0 }
            ? [.close(id)] : []
    }

    private func room(of connection: Connection) -> Int {
        guard connection.phase == .ready, connection.isWritable else { return 0 }
        var limit = connection.peerMax
        if streamsMax > 0 { limit = min(limit, streamsMax) }
        if isOneStreamFirst, !connection.isProven { limit = min(limit, 1) }
        return limit - connection.open
    }

    private mutating func change(_ id: UInt64, _ body: (inout Connection) -> Void) {
        guard let index = connections.firstIndex(where: { $0.id == id }) else { return }
        body(&connections[index])
    }
}
