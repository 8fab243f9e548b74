internal import SignalboxCore
internal import SignalboxDispatch
internal import SignalboxObservability

/// The metrics of a lane's deliveries, looked up once when the lane is made.
struct LaneSeries: Sendable {
    /// From a request to the provider to its answer.
    let provider: Histogram
    private let wait: Histogram
    private let delivered: Histogram
    private let failed: Histogram
    private let gone: Histogram
    private let attempts: (delivered: Metric, retried: Metric, failed: Metric)

    init(_ metrics: GatewayMetrics, sender: String, app: String = "") {
        func attempts(_ result: String) -> Metric { metrics.laneDeliveries[sender, app, result] }
        self.attempts = (attempts("delivered"), attempts("retried"), attempts("failed"))
        provider = metrics.providerTimes[sender]
        wait = metrics.queueWaits[sender]
        delivered = metrics.deliveryTimes[sender, "delivered"]
        failed = metrics.deliveryTimes[sender, "failed"]
        gone = metrics.deliveryTimes[sender, "gone"]
    }

    /// Deliveries are handed to the sender; retries are not counted as waiting again.
    func offered(_ batch: [Delivery], unixMs: UInt64) {
        for delivery in batch where delivery.attempt == 1 {
            observe(wait, delivery, unixMs)
        }
    }

    func ended(_ ending: LaneEnding) {
        count(ending)
        switch ending.kind {
        case .delivered: observe(delivered, ending.delivery, ending.unixMs, ending.pausedMs)
        // It expired while an operator paused it.
        case .failed(reason: "expired", _) where ending.pausedMs > 0: break
        case .failed:
            // A dead token is nobody's fault.
            let isGone = ending.outcome.kind == .unregistered
            observe(isGone ? gone : failed, ending.delivery, ending.unixMs, ending.pausedMs)
        case .retry, .released, .aside, .cancelled, .superseded: break
        }
    }

    private func count(_ ending: LaneEnding) {
        switch ending.kind {
        case .delivered: attempts.delivered.add()
        case .retry: attempts.retried.add()
        case .failed: attempts.failed.add()
        case .released, .aside, .cancelled, .superseded: break
        }
    }

    /// Without paused time, which is not slowness.
    private func observe(
        _ histogram: Histogram, _ delivery: Delivery, _ unixMs: UInt64, _ pausedMs: UInt64 = 0
    ) {
        let received = delivery.content.receivedUnixMs
        // Stored by a release that did not record the time.
        guard received > 0 else { return }
        let ms = unixMs - min(unixMs, received)
        histogram.observe(ms: ms - min(ms, pausedMs))
    }
}
