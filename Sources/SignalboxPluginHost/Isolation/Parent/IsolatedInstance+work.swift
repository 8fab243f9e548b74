internal import SignalboxCore
internal import SignalboxThreads
internal import Synchronization

/// Why a role call has no result.
enum WorkEnd: Error {
    /// The instance is stopping.
    case stopping
    /// No process is running; nothing was sent.
    case down
    /// It has too many calls that it does not answer; nothing was sent.
    case busy
    /// The process ended during the call; what it did is unknown. `isAlone` if no other call was open.
    case lost(isAlone: Bool)
    /// The call is larger than the largest message.
    case tooLong
    /// The plugin was not called: this event is proven to crash its process.
    case guilty

    /// The fault for a caller that can retry.
    func fault(_ name: String) -> PluginFault {
        switch self {
        case .stopping: PluginFault(.stopping, "the gateway is stopping")
        case .down: PluginFault(.again, "the plugin \"\(name)\" is being started again")
        case .busy: PluginCalls.fullFault(name)
        case .lost: PluginFault(.again, "the plugin \"\(name)\" ended during the call")
        case .guilty: PluginFault(.lost, "it ends the process of the plugin \"\(name)\" each time")
        case .tooLong: PluginFault(.tooLarge, "the call is too large for the plugin \"\(name)\"")
        }
    }
}

/// Role calls.
extension IsolatedInstance {
    /// The current process, if it serves.
    func current() -> Result<IsolatedChild, WorkEnd> {
        let (child, isStopping) = state.update { ($0.isUp ? $0.child : nil, $0.isStopping) }
        if isStopping { return .failure(.stopping) }
        return child.map { .success($0) } ?? .failure(.down)
    }

    /// Runs what may wait for the process; another worker stands in for one that waits for long.
    func waiting<Value>(_ kind: CallKind, _ body: () -> Value) -> Value {
        WorkerThreads.watched(callOwner, kind, body)
    }

    /// The same for a call about an event; refused if the instance already has too many slow calls.
    func waiting<Value>(
        forEvent kind: CallKind, _ body: () -> Result<Value, WorkEnd>
    ) -> Result<Value, WorkEnd> {
        callOwner.isFull ? .failure(.busy) : waiting(kind, body)
    }

    /// Worker threads of a process.
    static var threadCount: UInt32 { UInt32(max(4, SystemThread.cores + 2)) }

    /// Calls a process, and blocks until it has replied or is gone; one that takes too long is ended.
    ///
    /// Thread: worker. `onAnswer` as in `WirePeer.call`.
    func work(
        _ child: IsolatedChild, _ method: WireMethod,
        onAnswer: (@Sendable (WireFrame?) -> Void)? = nil, _ write: (WireWriter) -> Void
    ) -> Result<WireFrame, WorkEnd> {
        let deadline = SystemClock.monotonicNs + options.workMs * 1_000_000
        let end: WorkEnd
        switch child.peer.call(method, deadlineNs: deadline, onAnswer: onAnswer, write) {
        case .success(let frame):
            child.hasWorked.store(true, ordering: .relaxed)
            return .success(frame)
        case .failure(.tooLong): return .failure(.tooLong)
        case .failure(.closed): end = .down
        case .failure(.gone): end = .lost(isAlone: child.peer.lostCount <= 1)
        case .failure(.late):
            let what = "\(method) took over \(options.workMs) ms"
            services.misbehaved(instance: name, "\(what), so its process was ended")
            child.kill(because: what)
            end = .lost(isAlone: true)
        }
        return .failure(state.update { $0.isStopping } ? .stopping : end)
    }

    /// Asks a process for a value; an invalid value ends the process.
    func ask<Answer: WireValue>(
        _ child: IsolatedChild, _ method: WireMethod, _ write: (WireWriter) -> Void,
        check: (inout Answer) throws(WireFault) -> Void = { _ in }
    ) -> Result<Answer, WorkEnd> {
        switch work(child, method, write) {
        case .failure(let end): return .failure(end)
        case .success(let frame):
            do throws(WireFault) {
                var answer = try Answer(reading: frame)
                try check(&answer)
                return .success(answer)
            } catch {
                _ = malformed(child, method, error)
                return .failure(.lost(isAlone: true))
            }
        }
    }

    /// Asks the current process for a value.
    func ask<Answer: WireValue>(
        _ method: WireMethod, _ write: (WireWriter) -> Void,
        check: (inout Answer) throws(WireFault) -> Void = { _ in }
    ) -> Result<Answer, WorkEnd> {
        switch current() {
        case .success(let child): ask(child, method, write, check: check)
        case .failure(let end): .failure(end)
        }
    }

    /// Reports a malformed answer and kills the process, which can no longer be trusted.
    func malformed(
        _ child: IsolatedChild, _ method: WireMethod?, _ fault: WireFault
    ) -> PluginFault {
        let place = method.map { " to \($0)" } ?? ""
        services.misbehaved(
            instance: name, "its process gave a malformed answer\(place): \(fault.what)")
        child.kill(because: "it broke the protocol")
        return PluginFault(.lost, "its process gave a malformed answer\(place): \(fault.what)")
    }

    /// Blocks until the process is up or the monotonic deadline has passed. Returns whether it is up.
    func waitUntilUp(deadlineNs: UInt64) -> Bool {
        state.wait(until: { state in
            if state.isUp { return (true, nil) }
            if state.isStopping || SystemClock.monotonicNs >= deadlineNs { return (false, nil) }
            return (nil, deadlineNs)
        })
    }

    /// Handles a notice from the process. Thread: the reading thread.
    func take(
        _ method: WireMethod, _ frame: WireFrame, from child: IsolatedChild
    ) throws(WireFault) {
        switch method {
        case .credentialReady: listeners.withLock { $0.credentialReady }()
        case .endpointsChanged: listeners.withLock { $0.endpointsChanged }()
        case .room: listeners.withLock { $0.room }()
        case .outcomes:
            let message = try OutcomesMessage(reading: frame)
            let wasOnTrial = sending.withLock { poison in
                defer { poison.cleared(message.outcomes.lazy.map(\.item)) }
                return poison.isOn(nowMs: SystemClock.monotonicNs / 1_000_000)
            }
            let strange = child.flights.settle(message.flight, message.outcomes)
            if strange > 0 {
                services.misbehaved(
                    instance: name, "settled \(strange) deliveries that it does not have")
            }
            // The next delivery may be sent.
            if wasOnTrial { listeners.withLock { $0.room }() }
        case .batch:
            guard let take = listeners.withLock({ $0.batch }) else {
                throw WireFault("it is no source")
            }
            try take(try BatchMessage(reading: frame), child)
        case .condition:
            let fault = try PluginFault?(reading: frame)
            listeners.withLock { $0.condition }(fault)
        default: throw WireFault("it may not ask for \(method)")
        }
    }

    /// Settles deliveries that the plugin's own transport held when its process ended: whether they
    /// arrived is unknown.
    func giveBack(
        _ flights: [(items: [UInt64], tell: @Sendable ([Outcome]) -> Void)], isFirst: Bool,
        lostCalls: Int
    ) {
        let items = flights.flatMap(\.items)
        guard !items.isEmpty else { return }
        let isProven = sending.withLock {
            $0.crashed(
                items, isAlone: lostCalls <= 1, isFirst: isFirst,
                nowMs: SystemClock.monotonicNs / 1_000_000)
        }
        for flight in flights {
            flight.tell(flight.items.map { LostCall.outcome($0, isProven: isProven) })
        }
    }
}

/// The outcome of an item whose call was lost with its process.
enum LostCall {
    static func outcome(_ item: UInt64, isProven: Bool) -> Outcome {
        guard isProven else { return Outcome(item: item, kind: .retry, reason: "plugin_failed") }
        var outcome = Outcome(item: item, kind: .rejected, reason: "plugin_crashes")
        outcome.detail = "the plugin's process ended each time it handled this item"
        return outcome
    }
}
