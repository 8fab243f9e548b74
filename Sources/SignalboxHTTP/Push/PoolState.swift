/// Decides when a pool connects and which connection takes the next request. No sockets and no clock;
/// times are monotonic nanoseconds.
struct PoolState {
    enum Action: Equatable {
        /// Open a connection with this number.
        case connect(UInt64)
        /// Close a connection without open requests.
        case close(UInt64)
        /// Ask again at this time.
        case wake(atNs: UInt64)
        /// The connection answers no requests, and gets no more.
        case stalled(UInt64)
        /// The connection answers only 503: another one may reach a server that works.
        case leave(UInt64)
    }

    private enum Phase { case connecting, ready, draining }

    private struct Connection {
        var id: UInt64
        var phase: Phase
        var window: StreamWindow
        var open = 0
        /// Number of open requests that were reported as timed out.
        var overdue = 0
        var peerMax = 0
        var answers: UInt64 = 0
        /// Number of time-outs since the last answer.
        var silent = 0
        /// Number of 503s since the last other answer.
        var unavailable = 0
        /// Whether a request has succeeded on it, so that the peer allows more than one stream.
        var isProven = false
        var isWritable = true
        var isStalled = false
    }

    /// A connection is given up after this many time-outs without an answer in between.
    static let silentMax = 3
    /// A connection is left after this many 503s in a row: a few in between are the provider's ordinary load.
    static let unavailableMax = 10

    /// One in this many of a peer's allowed streams stays free.
    static let spareShare = 64

    private let connectionsMax: Int
    private let streamsMax: Int
    private let isOneStreamFirst: Bool
    private let timeoutNs: UInt64
    private var connections: [Connection] = []
    private var nextID: UInt64 = 1
    /// Separate backoffs for connects with no other connection, and for additional ones: a peer that accepts
    /// only one connection must not delay its replacement.
    private var firstBackoff = Backoff()
    private var extraBackoff = Backoff()
    private var postponedNs: UInt64 = 0
    private(set) var isStopping = false
    /// Time of the last answer, on any connection.
    private(set) var lastAnswerNs: UInt64 = 0

    init(connectionsMax: Int, streamsMax: Int, isOneStreamFirst: Bool, timeoutNs: UInt64) {
        self.connectionsMax = max(1, connectionsMax)
        self.streamsMax = streamsMax
        self.isOneStreamFirst = isOneStreamFirst
        self.timeoutNs = timeoutNs
    }

    func isReady(_ id: UInt64) -> Bool {
        connections.contains { $0.id == id && $0.phase == .ready }
    }

    func isConnecting(_ id: UInt64) -> Bool {
        connections.contains { $0.id == id && $0.phase == .connecting }
    }

    var readyCount: Int { connections.count { $0.phase == .ready } }
    var connectingCount: Int { connections.count { $0.phase == .connecting } }
    var drainingCount: Int { connections.count { $0.phase == .draining } }
    var openCount: Int { connections.reduce(0) { $0 + $1.open } }
    var isFailing: Bool {
        (firstBackoff.failures > 0 || extraBackoff.failures > 0) && readyCount == 0
    }
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

    /// What to do while `waiting` requests have no connection.
    mutating func need(waiting: Int, nowNs: UInt64) -> [Action] {
        guard waiting > 0, !isStopping, connectingCount == 0, place() == nil else { return [] }
        // A connection that may carry only one stream until its first success is not full: it is being tested.
        let isProving = connections.contains {
            $0.phase == .ready && isOneStreamFirst && !$0.isProven && $0.peerMax > 0
        }
        guard !isProving, readyCount < connectionsMax else { return [] }
        let backoff = readyCount == 0 ? firstBackoff : extraBackoff
        let notBeforeNs = max(backoff.notBeforeNs, postponedNs)
        guard nowNs >= notBeforeNs else { return [.wake(atNs: notBeforeNs)] }
        let id = nextID
        nextID += 1
        // A new connection starts with the window that was learned for a slow peer.
        let limit = connections.reduce(.max) { min($0, $1.window.limit) }
        connections.append(
            Connection(
                id: id, phase: .connecting,
                window: StreamWindow(timeoutNs: timeoutNs, limit: limit)))
        return [.connect(id)]
    }

    /// Postpones a connection until this time.
    mutating func postponed(_ id: UInt64, untilNs: UInt64) -> [Action] {
        connections.removeAll { $0.id == id }
        postponedNs = untilNs
        return [.wake(atNs: untilNs)]
    }

    mutating func connected(_ id: UInt64, peerMax: Int) {
        change(id) {
            $0.phase = .ready
            $0.peerMax = peerMax
        }
    }

    /// Records a connection that was never ready. `random` is 0..<1.
    mutating func connectFailed(_ id: UInt64, nowNs: UInt64, random: Double) {
        connections.removeAll { $0.id == id }
        if readyCount == 0 {
            firstBackoff.fail(nextID: nextID, nowNs: nowNs, random: random)
        } else {
            extraBackoff.fail(nextID: nextID, nowNs: nowNs, random: random)
        }
    }

    mutating func settings(_ id: UInt64, peerMax: Int) { change(id) { $0.peerMax = peerMax } }

    mutating func writability(_ id: UInt64, _ isWritable: Bool) {
        change(id) { $0.isWritable = isWritable }
    }

    /// Records a sent request.
    mutating func opened(_ id: UInt64, nowNs: UInt64) -> Flight {
        var flight = Flight(sentNs: nowNs, answersBefore: 0)
        change(id) {
            $0.open += 1
            flight.answersBefore = $0.answers
        }
        return flight
    }

    /// Records the end of a stream. `flight` is nil if it was given up after its time-out. `status`: of the answer; 0
    /// for a reset, nil if the peer did not react to it.
    mutating func ended(
        _ id: UInt64, _ flight: Flight?, status: UInt32?, nowNs: UInt64
    ) -> [Action] {
        let isAnswer = status != nil
        let isSuccess = (200..<300).contains(status ?? 0)
        var isUseless = false
        change(id) {
            $0.open -= 1
            if flight?.isOverdue ?? true { $0.overdue -= 1 }
            if isAnswer, let flight {
                $0.answers += 1
                $0.silent = 0
                $0.window.answered(
                    flight, answers: $0.answers - flight.answersBefore, peerMax: $0.peerMax,
                    nowNs: nowNs)
            }
            if isSuccess { $0.isProven = true }
            guard isAnswer else { return }
            $0.unavailable = status == 503 ? $0.unavailable + 1 : 0
            guard $0.unavailable >= Self.unavailableMax else { return }
            $0.unavailable = 0
            isUseless = true
        }
        if isAnswer { lastAnswerNs = nowNs }
        if isSuccess {
            firstBackoff.succeed(id)
            extraBackoff.succeed(id)
        }
        return (isUseless ? [.leave(id)] : []) + closable(id)
    }

    /// Records a time-out; the stream stays open for a late answer.
    ///
    /// A connection that answered no request meanwhile may be dead even if it answers PING.
    mutating func timedOut(_ id: UInt64, _ flight: Flight) -> [Action] {
        var hasStalled = false
        change(id) {
            $0.overdue += 1
            let answers = $0.answers - flight.answersBefore
            $0.window.timedOut(answers: answers)
            guard answers == 0 else { return }
            $0.silent += 1
            guard !$0.isStalled, $0.silent >= Self.silentMax || !$0.isProven else { return }
            $0.isStalled = true
            hasStalled = $0.phase == .ready
            $0.phase = .draining
        }
        return (hasStalled ? [.stalled(id)] : []) + closable(id)
    }

    /// Records that nobody waits for an open request any more; its stream stays open for a late answer.
    mutating func gaveUp(_ id: UInt64) { change(id) { $0.overdue += 1 } }

    /// Called when requests have waited too long: gives up connections whose peer allows no streams.
    mutating func starved() -> [Action] {
        let useless = connections.filter {
            $0.phase == .ready && $0.open == 0 && $0.peerMax == 0
        }
        return useless.flatMap { connection in
            change(connection.id) {
                $0.isStalled = true
                $0.phase = .draining
            }
            return [.stalled(connection.id)] + closable(connection.id)
        }
    }

    /// Stops sending requests on a connection.
    mutating func drain(_ id: UInt64) -> [Action] {
        change(id) { if $0.phase == .ready { $0.phase = .draining } }
        return closable(id)
    }

    /// Records the end of a ready connection. One that never had a successful request counts as a failed
    /// connect, so that a peer that accepts and drops connections is not reconnected in a loop.
    ///
    /// Returns whether it counts as a failed connect.
    mutating func closed(_ id: UInt64, nowNs: UInt64, random: Double) -> Bool {
        guard connections.first(where: { $0.id == id })?.isProven == false else {
            connections.removeAll { $0.id == id }
            return false
        }
        connectFailed(id, nowNs: nowNs, random: random)
        return true
    }

    mutating func stop() -> [Action] {
        isStopping = true
        return ids.flatMap { drain($0) }
    }

    /// A shutdown waits neither for late answers nor for a connection that answers nothing.
    private func closable(_ id: UInt64) -> [Action] {
        connections.contains {
            $0.id == id && $0.phase == .draining
                && ($0.open == 0 || isStopping && ($0.isStalled || $0.open == $0.overdue))
        } ? [.close(id)] : []
    }

    private func room(of connection: Connection) -> Int {
        guard connection.phase == .ready, connection.isWritable else { return 0 }
        // A stream that ended for us may still be open for the peer: some spare room keeps it from refusing streams.
        var limit = connection.peerMax - connection.peerMax / Self.spareShare
        if streamsMax > 0 { limit = min(limit, streamsMax) }
        if isOneStreamFirst, !connection.isProven { limit = min(limit, 1) }
        // If all open requests are overdue, one more tests whether the connection still works.
        let probe = connection.open == connection.overdue ? connection.open + 1 : 0
        return min(limit, max(connection.window.limit, probe)) - connection.open
    }

    private mutating func change(_ id: UInt64, _ body: (inout Connection) -> Void) {
        guard let index = connections.firstIndex(where: { $0.id == id }) else { return }
        body(&connections[index])
    }
}
