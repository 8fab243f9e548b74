internal import SignalboxCore

/// The observe role of an isolated instance.
final class IsolatedObserver: Observing {
    let maxBatch: Int?
    private let instance: IsolatedInstance

    init(_ instance: IsolatedInstance, maxBatch: Int?) {
        self.instance = instance
        self.maxBatch = maxBatch
    }

    /// Hands over a batch; one that is lost with the process comes again.
    func observe(
        _ batch: [Observation], done: @escaping @Sendable (ObserveVerdict) -> Void
    ) {
        let child: IsolatedChild
        switch instance.current() {
        case .success(let current): child = current
        case .failure: return done(.later(afterMs: 0, reason: "plugin_down"))
        }
        let worked = instance.waiting(PluginCalls.observe) {
            instance.work(
                child, .observe,
                onAnswer: { [instance] frame in
                    guard let frame else {
                        return done(.later(afterMs: 0, reason: "plugin_failed"))
                    }
                    do throws(WireFault) {
                        done(try ObserveVerdict(reading: frame))
                    } catch {
                        _ = instance.malformed(child, .observe, error)
                        done(.later(afterMs: 0, reason: "plugin_failed"))
                    }
                }, { $0.put(batch) })
        }
        // The reply says that the call came; the verdict is its answer.
        if case .failure = worked { done(.later(afterMs: 0, reason: "plugin_failed")) }
    }
}
