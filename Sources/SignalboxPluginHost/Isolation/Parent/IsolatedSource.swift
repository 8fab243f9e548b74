internal import SignalboxCore
internal import SignalboxThreads
internal import Synchronization

/// The source role of an isolated instance.
///
/// If its process ends, emitted batches are still decided, but the verdicts are dropped: the source emits them again.
/// The next process is resumed as the last one was.
final class IsolatedSource: Sourcing {
    private struct Opening {
        var batchesMax: Int
        var take: @Sendable (SourceBatch) -> Bool
        var onCondition: @Sendable (PluginFault?) -> Void
    }

    private struct State {
        var opening: Opening?
        /// Undecided batches of the current process.
        var undecided = 0
        /// Which process that is.
        var child: ObjectIdentifier?
    }

    /// When a new process that could not be resumed is asked again.
    private static let againMs: UInt64 = 5_000

    private let instance: IsolatedInstance
    private let limits: Limits
    private let state = Mutex(State())

    init(_ instance: IsolatedInstance, limits: Limits) {
        self.instance = instance
        self.limits = limits
        instance.listeners.withLock { listeners in
            listeners.batch = { [weak self] (message, child) throws(WireFault) in
                try self?.take(message, from: child)
            }
            listeners.again = { [weak self] in self?.resumeAgain($0) }
            listeners.condition = { [weak self] in
                self?.state.withLock { $0.opening }?.onCondition($0)
            }
        }
    }

    var instanceName: String { instance.name }
    var instanceID: ObjectIdentifier { ObjectIdentifier(instance) }

    func resume(
        batchesMax: Int, take: @escaping @Sendable (SourceBatch) -> Bool,
        onCondition: @escaping @Sendable (PluginFault?) -> Void
    ) async throws(PluginFault) {
        state.withLock {
            $0.opening = Opening(batchesMax: batchesMax, take: take, onCondition: onCondition)
        }
        let fault = await instance.askSource(.resumeSource) { $0.put(batchesMax) }
        // A process that is being started again is resumed when it is up.
        guard let fault, fault.kind != .lost else { return }
        state.withLock { $0.opening = nil }
        throw fault
    }

    func pause() async throws(PluginFault) {
        let fault = await instance.askSource(.pauseSource) { _ in }
        state.withLock { $0.opening = nil }
        if let fault, fault.kind != .lost { throw fault }
    }

    /// A new process serves. Thread: control.
    private func resumeAgain(_ child: IsolatedChild) {
        guard let opening = state.withLock({ $0.opening }), !child.peer.isGone else { return }
        let fault = instance.askSource(child, .resumeSource) { $0.put(opening.batchesMax) }
        guard let fault else { return opening.onCondition(nil) }
        instance.services.log(
            instance: instance.name, level: .error, message: "the source could not be resumed",
            fields: [Attribute("error", fault.message)])
        instance.services.onWorker(afterMs: Self.againMs) { [weak self] in
            guard let self else { return }
            instance.control?.run { self.resumeAgain(child) }
        }
    }

    /// A batch of its process. Thread: the reading thread.
    private func take(_ message: BatchMessage, from child: IsolatedChild) throws(WireFault) {
        var result = IngestResult()
        result.events = message.events
        try IngestRules.check(&result, limits, source: instance.name)
        let opening = try state.withLock { state throws(WireFault) -> Opening? in
            if state.child != ObjectIdentifier(child) {
                state.child = ObjectIdentifier(child)
                state.undecided = 0
            }
            guard let opening = state.opening else { return nil }
            guard state.undecided < opening.batchesMax else {
                throw WireFault("it has more than \(opening.batchesMax) undecided batches")
            }
            state.undecided += 1
            return opening
        }
        let answer: @Sendable (SourceVerdict) -> Void = { [self] verdict in
            state.withLock { state in
                if opening != nil, state.child == ObjectIdentifier(child) { state.undecided -= 1 }
            }
            child.peer.tell(.settled) {
                $0.put(SettledMessage(number: message.number, verdict: verdict))
            }
        }
        let batch = SourceBatch(
            events: result.events, receivedUnixMs: message.receivedUnixMs, done: answer)
        if opening?.take(batch) != true { answer(.again(afterMs: 100)) }
    }
}
