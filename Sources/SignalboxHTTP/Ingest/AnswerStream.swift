internal import Synchronization

/// The rest of an endless answer: it continues until one side closes the connection.
///
/// A client that does not read is disconnected, so that its data does not pile up in memory.
public final class AnswerStream: Sendable {
    private struct State {
        var send: (@Sendable ([UInt8]) -> Void)?
        var isOver = false
    }

    private let state = Mutex(State())
    private let onEnd: @Sendable () -> Void

    /// `onEnd` is called once, when nothing more can be sent, or nothing ever could; on any thread.
    public init(onEnd: @escaping @Sendable () -> Void) { self.onEnd = onEnd }

    /// Sends a part; it is dropped before the answer's head was sent, and after the end. Thread: any.
    public func send(_ part: [UInt8]) { state.withLock { $0.send }?(part) }

    /// The head was sent.
    func begin(_ send: @escaping @Sendable ([UInt8]) -> Void) {
        state.withLock { state in if !state.isOver { state.send = send } }
    }

    /// Nothing more can be sent; for answers that reach no connection. Further calls do nothing.
    public func end() {
        let isFirst = state.withLock { state in
            defer { state = State(send: nil, isOver: true) }
            return !state.isOver
        }
        if isFirst { onEnd() }
    }
}
