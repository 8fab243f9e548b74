internal import Logging
internal import SignalboxCore
internal import SignalboxThreads

/// Writes down what became of each delivery: one log line, one count, and the number of those that
/// are still under way.
final class OutcomeRecord: Sendable {
    private let logger: Logger
    private let metrics: GatewayMetrics
    private let router: Router
    private let underWay: UnderWay
    private let clock: @Sendable () -> UInt64

    init(
        logger: Logger, metrics: GatewayMetrics, router: Router, underWay: UnderWay,
        clock: @escaping @Sendable () -> UInt64
    ) {
        self.clock = clock
        self.logger = logger
        self.metrics = metrics
        self.router = router
        self.underWay = underWay
    }

    func delivered(_ delivery: Delivery, outcome: Outcome) {
        count(delivery, "delivered", outcome.reason)
        logger.info("delivered", metadata: fields(delivery, outcome.reason))
        underWay.adjust(by: -1)
    }

    func retried(_ delivery: Delivery, outcome: Outcome, atUnixMs: UInt64) {
        count(delivery, "retried", outcome.reason)
        var metadata = fields(delivery, outcome.reason)
        let now = clock()
        metadata["delivery.retry_in_ms"] = "\(atUnixMs > now ? atUnixMs - now : 0)"
        if !outcome.detail.isEmpty { metadata["detail"] = "\(outcome.detail)" }
        logger.warning("delivery will be tried again", metadata: metadata)
    }

    func failed(_ delivery: Delivery, reason: String, detail: String = "") {
        count(delivery, "failed", reason)
        var metadata = fields(delivery, reason)
        if !detail.isEmpty { metadata["detail"] = "\(detail)" }
        logger.error("delivery failed", metadata: metadata)
        underWay.adjust(by: -1)
    }

    private func count(_ delivery: Delivery, _ result: String, _ reason: String) {
        metrics.outcome(
            route: router.routes[delivery.route].name, sender: delivery.sender, result: result,
            reason: reason)
    }

    private func fields(_ delivery: Delivery, _ reason: String) -> Logger.Metadata {
        [
            "event.id": "\(delivery.eventID)",
            "route.name": "\(router.routes[delivery.route].name)",
            "delivery.id": "\(delivery.stableID)", "delivery.attempt": "\(delivery.attempt)",
            "plugin.instance": "\(delivery.sender)", "reason": "\(reason)",
        ]
    }
}

/// How many deliveries are accepted and not settled, with a way to wait for none.
final class UnderWay: Sendable {
    private let gate = Gate(0)

    /// Counts `weight` in, or refuses if that would be over the bound.
    func reserve(_ weight: Int, max: Int) -> Bool {
        gate.update { count in
            guard count + weight <= max else { return false }
            count += weight
            return true
        }
    }

    /// Counts in or out.
    func adjust(by delta: Int) { gate.update { $0 += delta } }

    /// The number of now.
    var count: Int { gate.update { $0 } }

    /// Blocks until nothing is under way or the time has come; what is left.
    func waitForNone(deadlineNs: UInt64) -> Int {
        gate.wait(until: { count in
            if count <= 0 || Clock.monotonicNs >= deadlineNs { return (count, nil) }
            return (nil, deadlineNs)
        })
    }
}
