internal import SignalboxThreads
internal import Synchronization

/// Why a call has no reply.
enum WireEnd: Error, Sendable {
    /// The peer was gone before it was asked.
    case closed
    /// The peer went away without a reply; what it did is unknown.
    case gone
    /// The time was up.
    case late
    /// The message is longer than any may be.
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
        /// Calls that had no reply when the peer went.
        var lost = 0
    }

    /// Where the reply to a call comes in.
    private final class Waiter: Sendable {
        let slot = Gate<Result<WireFrame, WireEnd>?>(nil)
    }

    let channel: WireChannel
    private let state = Mutex(State())

    init(_ channel: WireChannel) { self.channel = channel }

    /// The peer is gone.
    var isGone: Bool { state.withLock { $0.isGone } }
    /// Calls that wait for a reply.
    var openCount: Int { state.withLock { $0.waiting.count } }
    /// Calls that had no reply when the peer went.
    var lostCount: Int { state.withLock { $0.lost } }

    // MARK: Sending

    /// Asks the peer, and blocks until there is a reply or the monotonic time has come.
    ///
    /// After a reply `onAnswer` is called once, with what comes later, or with nil when the peer is gone;
    /// unless `forget` is called with the number of the reply before.
    func call(
        _ method: WireMethod, deadlineNs: UInt64 = .max,
        onAnswer: (@Sendable (WireFrame?) -> Void)? = nil, _ write: (WireWriter) -> Void = { _ in }
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
        // One that cannot be sent is ended with all others, by the thread that reads.
        _ = channel.send(message)
        let result: Result<WireFrame, WireEnd> = waiter.slot.wait(until: { slot in
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

    /// There will be no answer to a call, or nobody waits for it any more; whether there was none yet.
    @discardableResult
    func forget(_ call: UInt64) -> Bool {
        state.withLock { $0.answers.removeValue(forKey: call) != nil }
    }

    /// Tells the peer something.
    func tell(_ method: WireMethod, _ write: (WireWriter) -> Void = { _ in }) {
        send(method.rawValue, .notice, 0, write)
    }

    /// Replies to a call. False: the reply is too long, and another one is due.
    @discardableResult
    func reply(to frame: WireFrame, _ write: (WireWriter) -> Void) -> Bool {
        send(frame.method, .reply, frame.call, write)
    }

    /// Answers a call that was replied to before. False: the answer is too long, and another one is due.
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

    /// Reads until the peer is gone; then all who wait for it are told, `onGone` before them. Throws if
    /// what it says makes no sense.
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
            // Whoever still waits for a reply learns it from that.
            return (state.waiting, state.answers.filter { state.waiting[$0.key] == nil })
        }
        for waiter in waiting.values { waiter.slot.update { $0 = .failure(.gone) } }
        for answer in answers.values { answer(nil) }
    }
}
