internal import Logging
internal import SignalboxCore
internal import SignalboxThreads

/// Outcomes that are counted together: neighbours mostly come to the same.
struct OutcomeTally {
    fileprivate var route = ""
    fileprivate var sender = ""
    fileprivate var result: StaticString = ""
    fileprivate var reason = ""
    fileprivate var count: Int64 = 0
    /// What receivers of outcomes are told; it goes into the commit that ends the deliveries.
    private(set) var pack = OutcomePack()
    private var wish: OutcomeWish?

    /// Notes the end of a delivery, if somebody wants it.
    fileprivate mutating func note(
        _ result: OutcomeResult, of delivery: Delivery, reason: String, providerID: String = "",
        attempts: UInt32, unixMs: UInt64, _ stream: OutcomeStream
    ) {
        if wish == nil { wish = stream.wish }
        guard let wish, wish.takes(result, route: delivery.route), !delivery.isDryRun,
            !delivery.route.isEmpty
        else { return }
        pack.add(
            result, of: delivery, reason: reason, providerID: providerID, attempts: attempts,
            unixMs: unixMs)
    }
}

/// Writes down what became of each delivery: one log line, one count.
final class OutcomeRecord: Sendable {
    private let logger: Logger
    private let metrics: GatewayMetrics
    private let clock: @Sendable () -> UInt64
    private let stream: OutcomeStream
    private let onOutcome: (@Sendable (DeliveryOutcome) -> Void)?

    init(
        logger: Logger, metrics: GatewayMetrics, stream: OutcomeStream,
        clock: @escaping @Sendable () -> UInt64,
        onOutcome: (@Sendable (DeliveryOutcome) -> Void)? = nil
    ) {
        self.onOutcome = onOutcome
        self.stream = stream
        self.clock = clock
        self.logger = logger
        self.metrics = metrics
    }

    /// Counts what is left in a tally.
    func count(_ tally: inout OutcomeTally) {
        guard tally.count > 0 else { return }
        metrics.outcome(
            route: tally.route, sender: tally.sender, result: "\(tally.result)",
            reason: tally.reason, count: tally.count)
        tally.count = 0
    }

    func delivered(_ delivery: Delivery, outcome: Outcome, _ tally: inout OutcomeTally) {
        add(delivery, "delivered", outcome.reason, to: &tally)
        if stream.isOn {
            tally.note(
                .delivered, of: delivery, reason: outcome.reason, providerID: outcome.providerID,
                attempts: delivery.attempt, unixMs: clock(), stream)
        }
        onOutcome?(
            DeliveryOutcome(
                .delivered, delivery, reason: outcome.reason, code: outcome.providerCode,
                providerID: outcome.providerID))
        logger.info("delivered", metadata: fields(delivery, outcome.reason))
    }

    func retried(
        _ delivery: Delivery, outcome: Outcome, atUnixMs: UInt64, _ tally: inout OutcomeTally
    ) {
        add(delivery, "retried", outcome.reason, to: &tally)
        onOutcome?(
            DeliveryOutcome(
                .retried, delivery, reason: outcome.reason, code: outcome.providerCode))
        var metadata = fields(delivery, outcome.reason)
        let now = clock()
        metadata["delivery.retry_in_ms"] = "\(atUnixMs > now ? atUnixMs - now : 0)"
        if !outcome.detail.isEmpty { metadata["detail"] = "\(outcome.detail)" }
        logger.warning("delivery will be tried again", metadata: metadata)
    }

    /// `wasSent`: the attempt that it is at went out.
    func failed(
        _ delivery: Delivery, reason: String, detail: String = "", code: UInt32 = 0,
        wasSent: Bool = true, _ tally: inout OutcomeTally
    ) {
        add(delivery, "failed", reason, to: &tally)
        if stream.isOn {
            tally.note(
                reason == "expired" ? .expired : .dead, of: delivery, reason: reason,
                attempts: delivery.attempt - (wasSent ? 0 : min(1, delivery.attempt)),
                unixMs: clock(), stream)
        }
        onOutcome?(DeliveryOutcome(.failed, delivery, reason: reason, code: code))
        var metadata = fields(delivery, reason)
        if !detail.isEmpty { metadata["detail"] = "\(detail)" }
        logger.error("delivery failed", metadata: metadata)
    }

    private func add(
        _ delivery: Delivery, _ result: StaticString, _ reason: String,
        to tally: inout OutcomeTally
    ) {
        let route = delivery.route
        if tally.count > 0, tally.reason == reason, tally.route == route,
            tally.result.utf8Start == result.utf8Start
        {
            tally.count += 1
            return
        }
        count(&tally)
        (tally.route, tally.sender) = (route, delivery.sender)
        (tally.result, tally.reason, tally.count) = (result, reason, 1)
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
            if count <= 0 || SystemClock.monotonicNs >= deadlineNs { return (count, nil) }
            return (nil, deadlineNs)
        })
    }
}
