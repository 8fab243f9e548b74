internal import SignalboxCore
internal import SignalboxThreads
internal import Synchronization

/// The send role of an isolated instance.
final class IsolatedSender: Sending {
    private let instance: IsolatedInstance
    private let usualBatch: Int?

    init(_ instance: IsolatedInstance, maxBatch: Int?) {
        self.instance = instance
        usualBatch = maxBatch
    }

    private var isOnTrial: Bool {
        instance.sending.withLock { $0.isOn(nowMs: SystemClock.monotonicNs / 1_000_000) }
    }

    var maxBatch: Int? { isOnTrial ? 1 : usualBatch }

    /// Offers deliveries. None is taken while the process is down. After a crash they are offered one at a time, each
    /// once the one before has its outcome or `trialMs` have passed, to find the one that causes it.
    func submit(
        app: String, deliveries: [Delivery],
        onOutcomes: @escaping @Sendable ([Outcome]) -> Void
    ) -> Result<Int, PluginFault> {
        let child: IsolatedChild
        switch instance.current() {
        case .success(let current): child = current
        case .failure(.stopping): return .failure(WorkEnd.stopping.fault(instance.name))
        case .failure: return .success(0)
        }
        let isOnTrial = isOnTrial
        if isOnTrial, let begunNs = child.flights.youngestNs {
            // A transport may forget an outcome, and others do not wait for that.
            let dueNs = begunNs + instance.options.trialMs * 1_000_000
            if dueNs > SystemClock.monotonicNs {
                instance.callForMore(atNs: dueNs)
                return .success(0)
            }
        }
        let offered = isOnTrial ? Array(deliveries.prefix(1)) : deliveries
        let items = offered.map(\.id)
        let flight = child.flights.begin(items, onOutcomes: onOutcomes)
        let asked: Result<WireResult<UInt64>, WorkEnd> = instance.waiting(PluginCalls.submit) {
            instance.ask(
                child, .submit,
                { $0.put(SubmitMessage(app: app, flight: flight, batch: WireDeliveries(offered))) },
                check: { answer throws(WireFault) in
                    if case .success(let taken) = answer.result, taken > UInt64(items.count) {
                        throw WireFault("it took more than it was offered")
                    }
                })
        }
        let result: Result<Int, PluginFault>
        switch asked {
        case .success(let answer): result = answer.result.map { Int($0) }
        // When the process ends, all deliveries without an outcome get one.
        case .failure(.lost): result = .success(items.count)
        case .failure(.down): result = .success(0)
        case .failure(let end): result = .failure(end.fault(instance.name))
        }
        child.flights.giveBack(flight, items.dropFirst((try? result.get()) ?? 0))
        return result
    }

    func whenRoom(_ body: @escaping @Sendable () -> Void) {
        instance.listeners.withLock { $0.room = body }
    }
}
