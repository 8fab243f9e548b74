internal import Logging
internal import SignalboxCore
internal import SignalboxThreads

/// Writes down what became of each delivery: one log line, one count.
final class OutcomeRecord: Sendable {
    private let logger: Logger
    private let metrics: GatewayMetrics
    private let clock: @Sendable () -> UInt64
    private let onOutcome: (@Sendable (DeliveryOutcome) -> Void)?

    init(
        logger: Logger, metrics: GatewayMetrics,
        clock: @escaping @Sendable () -> UInt64,
        onOutcome: (@Sendable (DeliveryOutcome) -> Void)? = nil
    ) {
        self.onOutcome = onOutcome
        self.clock = clock
        self.logger = logger
        self.metrics = metrics
    }

    func delivered(_ delivery: Delivery, outcome: Outcome) {
        count(delivery, "delivered", outcome.reason)
        onOutcome?(
            DeliveryOutcome(
                .delivered, delivery, reason: outcome.reason, code: outcome.providerCode,
                providerID: outcome.providerID))
        logger.info("delivered", metadata: fields(delivery, outcome.reason))
    }

    func retried(_ delivery: Delivery, outcome: Outcome, atUnixMs: UInt64) {
        count(delivery, "retried", outcome.reason)
        onOutcome?(
            DeliveryOutcome(
                .retried, delivery, reason: outcome.reason, code: outcome.providerCode))
        var metadata = fields(delivery, outcome.reason)
        let now = clock()
        metadata["delivery.retry_in_ms"] = "\(atUnixMs > now ? atUnixMs - now : 0)"
        if !outcome.detail.isEmpty { metadata["detail"] = "\(outcome.detail)" }
        logger.warning("delivery will be tried again", metadata: metadata)
    }

    func failed(_ delivery: Delivery, reason: String, detail: String = "", code: UInt32 = 0) {
        count(delivery, "failed", reason)
        onOutcome?(DeliveryOutcome(.failed, delivery, reason: reason, code: code))
        var metadata = fields(delivery, reason)
        if !detail.isEmpty { metadata["detail"] = "\(detail)" }
        logger.error("delivery failed", metadata: metadata)
    }

    private func count(_ delivery: Delivery, _ result: String, _ reason: String) {
        metrics.outcome(
            route: delivery.route, sender: delivery.sender, result: result,
            reason: reason)
    }

    private func fields(_ delivery: Delivery, _ reason: String) -> Logger.Metadata {
        [
            "event.id": "\(delivery.eventID)",
            "route.name": "\(delivery.route)",
            "delivery.id": "\(delivery.stableID)", "delivery.attempt": "\(delivery.attempt)",
            "plugin.instance": "\(delivery.sender)", "reason": "\(reason)",
        ]
    }
}

/// How many deliveries are in memory, with a way to wait for none.
final class UnderWay: Sendable {
    private let gate = Gate(0)

    /// Counts in or out.
    func adjust(by delta: Int) { gate.update { $0 += delta } }

    /// Blocks until nothing is under way or the time has come; what is left.
    func waitForNone(deadlineNs: UInt64) -> Int {
        gate.wait(until: { count in
            if count <= 0 || Clock.monotonicNs >= deadlineNs { return (count, nil) }
            return (nil, deadlineNs)
        })
    }
}
