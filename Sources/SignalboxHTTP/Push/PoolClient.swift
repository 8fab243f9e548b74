internal import SignalboxCore

/// Who sends over the connections of a pool: a sender with one app.
///
/// `@unchecked Sendable`: its variables are used only on the pool's event loop.
final class PoolClient: @unchecked Sendable {
    let onResults: @Sendable ([PushResult]) -> Void
    let onAnswer: @Sendable (UInt64) -> Void
    let maySend: @Sendable () -> Bool
    /// Results to be handed over.
    var results: [PushResult] = []
    /// Requests without a result.
    var openCount = 0
    /// It has left: what it submits or has not sent ends like this.
    var refusal: TransportFault?
    /// Called once it has left and all its requests have a result; from then on it gets none.
    var onOver: (@Sendable () -> Void)?
    var isOver = false

    init(
        onResults: @escaping @Sendable ([PushResult]) -> Void,
        onAnswer: @escaping @Sendable (UInt64) -> Void, maySend: @escaping @Sendable () -> Bool
    ) {
        self.onResults = onResults
        self.onAnswer = onAnswer
        self.maySend = maySend
    }

    /// A client of its own for the same owner.
    var successor: PoolClient {
        PoolClient(onResults: onResults, onAnswer: onAnswer, maySend: maySend)
    }
}
