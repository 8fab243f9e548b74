internal import SignalboxThreads
internal import Synchronization

/// Why a call has no reply.
enum WireEnd: Error, Sendable {
    /// The peer was gone before the call.
    case closed
    /// The peer went away without a reply; what it did is unknown.
    case gone
    /// The deadline passed.
    case late
    /// The message is longer than the limit.
    case tooLong
}

/// Calls over a channel, both ways. A call has one reply, and may have an answer that comes later.
final class WirePeer: Sendable {
    private enum Kind: UInt16 {
        case call = 1
        case reply, answer, notice
    }

    private struct State {
        var last: UInt64 = 0
        var waiting: [UInt64: Waiter] = [:]
        var answers: [UInt64: @Sendable (WireFrame?) -> Void] = [:]
        var isGone = false
        /// Calls without a reply when the peer went away.
        var lost = 0
    }

    /// Receives the reply to a call.
    private final class Waiter: Sendable {
        let slot = Gate<Result<WireFrame, WireEnd>?>(nil)
    }

    let channel: WireChannel
    private let state = Mutex(State())

    init(_ channel: WireChannel) { self.channel = channel }

    /// Whether the peer is gone.
    var isGone: Bool { state.withLock { $0.isGone } }
    /// Calls that wait for a reply.
    var openCount: Int { state.withLock { $0.waiting.count } }
    /// Calls without a reply when the peer went away.
    var lostCount: Int { state.withLock { $0.lost } }

    // MARK: Sending

    /// Calls the peer, and blocks until there is a reply or the monotonic deadline has passed.
    ///
    /// After a reply, `onAnswer` is called once, with the later answer or with nil when the peer is gone,
    /// unless `forget` was called first with the reply's call number.
    func call(
        _ method: WireMethod, deadlineNs: UInt64 = .max,
        onAnswer: (@Sendable (WireFrame?) -> Void)? = nil,
        _ write: (WireWriter) -> Void = { _ in }
    ) -> Result<WireFrame, WireEnd> {
        let message = WireWriter()
        write(message)
        guard !message.isTooLong else { return .failure(.tooLong) }
        let waiter = Waiter()
        let number = state.withLock { state -> UInt64? in
            guard !state.isGone else { return nil }
            state.last += 1
            state.waiting[state.last] = waiter
            if let onAnswer { state.answers[state.last] = onAnswer }
            return state.last
        }
        guard let number else { return .failure(.closed) }
        message.finish(method: method.rawValue, kind: Kind.call.rawValue, call: number)
        // If it cannot be sent, the reading thread ends it with all other calls.
        _ = channel.send(message)
        let result = waiter.slot.wait(until: { slot in
            if let slot { return (slot, nil) }
            guard deadlineNs != .max else { return (nil, nil) }
            return SystemClock.monotonicNs >= deadlineNs
                ? (.failure(.late), nil) : (nil, deadlineNs)
        })
        if case .failure = result {
            state.withLock { state in
                if state.waiting.removeValue(forKey: number) != nil { state.lost += 1 }
                state.answers[number] = nil
            }
        }
        return result
    }

    /// Stops waiting for the answer to a call. Returns whether the answer was still to come.
    @discardableResult
    func forget(_ call: UInt64) -> Bool {
        state.withLock { $0.answers.removeValue(forKey: call) != nil }
    }

    /// Sends the peer a notice.
    func tell(_ method: WireMethod, _ write: (WireWriter) -> Void = { _ in }) {
        send(method.rawValue, .notice, 0, write)
    }

    /// Sends the peer a notice. False if it is too long.
    func send(_ method: WireMethod, _ value: some WireValue) -> Bool {
        send(method.rawValue, .notice, 0) { $0.put(value) }
    }

    /// Replies to a call. False if the reply is too long; then send another.
    @discardableResult
    func reply(to frame: WireFrame, _ write: (WireWriter) -> Void) -> Bool {
        send(frame.method, .reply, frame.call, write)
    }

    /// Answers a call that already has a reply. False if the answer is too long; then send another.
    @discardableResult
    func answer(_ frame: WireFrame, _ write: (WireWriter) -> Void) -> Bool {
        send(frame.method, .answer, frame.call, write)
    }

    @discardableResult
    private func send(
        _ method: UInt16, _ kind: Kind, _ call: UInt64, _ write: (WireWriter) -> Void
    ) -> Bool {
        let message = WireWriter()
        write(message)
        guard !message.isTooLong else { return false }
        message.finish(method: method, kind: kind.rawValue, call: call)
        _ = channel.send(message)
        return true
    }

    // MARK: Reading

    /// Reads until the peer is gone, then calls `onGone` and ends all waiting calls. Throws if a message
    /// is malformed.
    ///
    /// Thread: one, which it blocks; `handle` gets calls and notices.
    func run(
        onGone: () -> Void = {}, _ handle: (WireMethod, WireFrame) throws(WireFault) -> Void
    ) throws(WireFault) {
        defer {
            onGone()
            end()
        }
        try channel.read { frame throws(WireFault) in
            switch Kind(rawValue: frame.kind) {
            case .reply:
                let waiter = state.withLock { $0.waiting.removeValue(forKey: frame.call) }
                waiter?.slot.update { $0 = .success(frame) }
            case .answer:
                state.withLock { $0.answers.removeValue(forKey: frame.call) }?(frame)
            case .call, .notice:
                guard let method = WireMethod(rawValue: frame.method) else {
                    throw WireFault("there is no method \(frame.method)")
                }
                try handle(method, frame)
            case nil: throw WireFault("there is no kind \(frame.kind) of message")
            }
        }
    }

    private func end() {
        channel.close()
        let (waiting, answers) = state.withLock { state in
            state.isGone = true
            state.lost += state.waiting.count
            defer {
                state.waiting = [:]
                state.answers = [:]
            }
            // A call that still waits for its reply fails, so its `onAnswer` is not called.
            return (state.waiting, state.answers.filter { state.waiting[$0.key] == nil })
        }
        for waiter in waiting.values { waiter.slot.update { $0 = .failure(.gone) } }
        for answer in answers.values { answer(nil) }
    }
}
