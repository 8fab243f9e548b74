internal import SignalboxCore
internal import SignalboxThreads
internal import Synchronization

/// The orders and received requests of one simulator.
final class SimulatorState: Sendable {
    /// What to do with a request.
    enum Action: Equatable {
        case serve
        case fail(status: Int, reason: String, retryAfter: Int?)
        case goAway(reason: String, answer: Bool)
        case refuse, reset, stall, cut
    }

    private struct Failure {
        var tokens: Set<String>
        var action: Action
        var left: Int?
    }

    private struct Waiter {
        var id: UInt64
        var count: Int
        var continuation: CheckedContinuation<Void, Never>
    }

    private struct State {
        var failures: [Failure] = []
        var goAway: (left: Int, reason: String, answer: Bool)?
        var next: [Action] = []
        var delayMs = 0
        var received: [ReceivedPush] = []
        var arrived = 0
        var waiters: [Waiter] = []
        var nextWaiter: UInt64 = 0
    }

    private let state = Mutex(State())

    /// Takes an order about requests; listeners and credentials are handled elsewhere.
    func take(_ order: SimulatorOrder) {
        state.withLock { state in
            switch order {
            case .fail(let tokens, let status, let reason, let times, let retryAfter):
                state.failures.append(
                    Failure(
                        tokens: Set(tokens),
                        action: .fail(status: status, reason: reason, retryAfter: retryAfter),
                        left: times))
            case .goAway(let after, let reason, let answer):
                state.goAway = (after, reason, answer)
            case .refuse(let count): state.next += Array(repeating: .refuse, count: count)
            case .reset([], let count): state.next += Array(repeating: .reset, count: count)
            case .reset(let tokens, let count):
                state.failures.append(Failure(tokens: Set(tokens), action: .reset, left: count))
            case .stall(let count): state.next += Array(repeating: .stall, count: count)
            case .cut(let count): state.next += Array(repeating: .cut, count: count)
            case .delay(let ms): state.delayMs = ms
            case .clear:
                state.failures = []
                state.goAway = nil
                state.next = []
                state.delayMs = 0
            case .streams, .closeListener, .openListener, .expireCredentials: break
            }
        }
    }

    /// What the orders say about a request to a path that they name like a token.
    func action(named path: String) -> Action {
        state.withLock { Self.failure(in: &$0) { $0.contains(path) } }
    }

    /// What the orders say about a request for a token.
    func action(for token: String) -> Action {
        state.withLock { state in
            if !state.next.isEmpty { return state.next.removeFirst() }
            if let order = state.goAway {
                if order.left <= 0 {
                    state.goAway = nil
                    return .goAway(reason: order.reason, answer: order.answer)
                }
                state.goAway = (order.left - 1, order.reason, order.answer)
            }
            return Self.failure(in: &state) { $0.isEmpty || $0.contains(token) }
        }
    }

    private static func failure(
        in state: inout State, _ applies: (Set<String>) -> Bool
    ) -> Action {
        guard let found = state.failures.firstIndex(where: { applies($0.tokens) }) else {
            return .serve
        }
        let failure = state.failures[found]
        if let left = failure.left {
            if left <= 1 {
                state.failures.remove(at: found)
            } else {
                state.failures[found].left = left - 1
            }
        }
        return failure.action
    }

    var delayMs: Int { state.withLock { $0.delayMs } }

    /// Records a received request.
    func add(_ push: ReceivedPush) {
        let due = state.withLock { state -> [CheckedContinuation<Void, Never>] in
            var push = push
            state.arrived += 1
            push.number = state.arrived
            push.unixMs = SystemClock.unixMs
            // Bounds the memory of a simulator that is under load for hours.
            if state.received.count >= 100_000 { state.received.removeFirst(50_000) }
            state.received.append(push)
            let due = state.waiters.filter { $0.count <= state.received.count }
            state.waiters.removeAll { $0.count <= state.received.count }
            return due.map(\.continuation)
        }
        for continuation in due { continuation.resume() }
    }

    /// The requests received since the last `forget`.
    var received: [ReceivedPush] { state.withLock { $0.received } }

    /// Forgets the received requests.
    func forget() { state.withLock { $0.received = [] } }

    /// Waits until `count` requests were received or the time is up. Returns the received ones.
    func wait(for count: Int, timeoutMs: UInt64) async -> [ReceivedPush] {
        let id = state.withLock { state in
            state.nextWaiter += 1
            return state.nextWaiter
        }
        let timer = Task {
            try await Task.sleep(for: .milliseconds(Int64(clamping: timeoutMs)))
            self.giveUp(id)
        }
        await withCheckedContinuation { continuation in
            let isThere = state.withLock { state in
                guard state.received.count < count else { return true }
                state.waiters.append(Waiter(id: id, count: count, continuation: continuation))
                return false
            }
            if isThere { continuation.resume() }
        }
        timer.cancel()
        return received
    }

    private func giveUp(_ id: UInt64) {
        let due = state.withLock { state -> CheckedContinuation<Void, Never>? in
            guard let index = state.waiters.firstIndex(where: { $0.id == id }) else { return nil }
            return state.waiters.remove(at: index).continuation
        }
        due?.resume()
    }
}
