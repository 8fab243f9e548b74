internal import Logging
internal import SignalboxConfig
internal import SignalboxCore
internal import SignalboxDispatch
internal import SignalboxObservability

/// Outcomes counted in a batch, since consecutive deliveries usually share one.
struct OutcomeTally {
    fileprivate var route = ""
    fileprivate var sender = ""
    fileprivate var result: StaticString = ""
    fileprivate var reason = ""
    fileprivate var count: Int64 = 0
    /// The outcomes for receivers, stored by the commit that ends the deliveries.
    fileprivate(set) var pack = OutcomePack()
    private var wish: OutcomeWish?

    /// Adds the end of a delivery, if a receiver wants it.
    fileprivate mutating func note(
        _ result: OutcomeResult, of delivery: Delivery, reason: String, providerID: String = "",
        attempts: UInt32, unixMs: UInt64, shortened: ShortenedTexts = [], _ stream: OutcomeStream
    ) {
        if wish == nil { wish = stream.wish }
        guard let wish, wish.takes(result, route: delivery.route), !delivery.isDryRun,
            delivery.kind == .push
        else { return }
        pack.add(
            result, of: delivery, reason: reason, providerID: providerID, attempts: attempts,
            unixMs: unixMs, shortened: shortened)
    }
}

/// Records how a lane's deliveries end: in the log, in the metrics, for outcome receivers and for plugins that follow
/// devices.
final class OutcomeRecord: OutcomeSink {
    private let logger: Logger
    private let metrics: GatewayMetrics
    private let series: LaneSeries
    private let current: CurrentGeneration
    private let deviceReports: DeviceReports
    private let stream: OutcomeStream
    private let spans: ActiveSpans
    private let pauses: PauseOrders
    /// Deliveries waiting on disk, of all senders.
    private let waitingCount: @Sendable () -> Int
    private let onOutcome: (@Sendable (DeliveryOutcome) -> Void)?

    init(
        logger: Logger, metrics: GatewayMetrics, series: LaneSeries,
        current: CurrentGeneration, deviceReports: DeviceReports,
        stream: OutcomeStream, pauses: PauseOrders, spans: ActiveSpans,
        waitingCount: @escaping @Sendable () -> Int,
        onOutcome: (@Sendable (DeliveryOutcome) -> Void)? = nil
    ) {
        self.onOutcome = onOutcome
        self.waitingCount = waitingCount
        self.stream = stream
        self.spans = spans
        self.pauses = pauses
        self.logger = logger
        self.metrics = metrics
        self.series = series
        self.current = current
        self.deviceReports = deviceReports
    }

    func policy(of delivery: Delivery) -> RetryPolicy {
        delivery.kind == .report
            ? .reports : current.generation.router.rules(of: delivery.route).retry
    }

    func offered(_ batch: [Delivery], unixMs: UInt64) {
        series.offered(batch, unixMs: unixMs)
        if spans.isOn { spans.sending(batch, unixMs: unixMs) }
    }

    func keepsLetter(of ending: LaneEnding) -> Bool {
        guard ending.delivery.kind == .push else { return true }
        if ending.outcome.kind == .unregistered,
            !current.generation.plan.config.gateway.dead.keepsUnregistered
        {
            return false
        }
        return !pauses.forgotten.covers(ending.delivery)
    }

    func record(_ endings: [LaneEnding]) -> OutcomePack {
        if spans.isOn { spans.ended(endings) }
        var tally = OutcomeTally()
        let keepsHistory = current.generation.keepsHistory
        let forgotten = pauses.forgotten
        // By index: a loop over the elements copies each ending with its texts.
        for index in endings.indices {
            let delivery = endings[index].delivery
            if keepsHistory, delivery.kind == .push, let step = endings[index].step,
                !forgotten.covers(delivery)
            {
                tally.pack.history.add(step, of: delivery)
            }
            record(endings[index], of: delivery, &tally)
        }
        count(&tally)
        return tally.pack
    }

    private func record(
        _ ending: LaneEnding, of delivery: Delivery, _ tally: inout OutcomeTally
    ) {
        series.ended(ending)
        let newToken = ending.outcome.newToken
        if !newToken.isEmpty { deviceReports.moved(delivery, to: newToken) }
        switch ending.kind {
        case .delivered:
            if delivery.isDryRun { deviceReports.tried(delivery, reason: nil) }
            delivered(ending, &tally)
        case .retry(let at, _): retried(ending, atUnixMs: at, &tally)
        case .failed(let reason, let wasSent):
            if ending.outcome.kind == .unregistered {
                deviceReports.report(delivery, ending.outcome)
            }
            if delivery.isDryRun { deviceReports.tried(delivery, reason: reason) }
            failed(ending, reason, wasSent: wasSent, &tally)
        case .cancelled:
            spared(ending, .cancelled, "cancelled", ending.outcome.reason, &tally)
        case .superseded(let reason):
            spared(ending, .superseded, "superseded", reason, &tally)
        case .released, .aside: break
        }
    }

    /// Flushes a tally into the metrics.
    private func count(_ tally: inout OutcomeTally) {
        guard tally.count > 0 else { return }
        metrics.outcome(
            route: tally.route, sender: tally.sender, result: "\(tally.result)",
            reason: tally.reason, count: tally.count)
        tally.count = 0
    }

    private func delivered(_ ending: LaneEnding, _ tally: inout OutcomeTally) {
        let delivery = ending.delivery
        add(delivery, "delivered", ending.outcome.reason, to: &tally)
        if stream.isOn {
            tally.note(
                .delivered, of: delivery, reason: ending.outcome.reason,
                providerID: ending.outcome.providerID, attempts: delivery.attempt,
                unixMs: ending.unixMs, shortened: ending.outcome.shortened, stream)
        }
        onOutcome?(
            DeliveryOutcome(
                .delivered, delivery, reason: ending.outcome.reason,
                code: ending.outcome.providerCode, providerID: ending.outcome.providerID))
        guard logger.logLevel <= .info else { return }
        let outcome = ending.outcome
        var metadata = fields(delivery, outcome.reason)
        if !outcome.detail.isEmpty { metadata["detail"] = "\(outcome.detail)" }
        logger.info("delivered", metadata: metadata)
    }

    /// It was not sent (again) and is no dead letter. A superseded push is not missed: a newer one shows its content,
    /// or it was withdrawn.
    private func spared(
        _ ending: LaneEnding, _ result: OutcomeResult, _ name: StaticString, _ reason: String,
        _ tally: inout OutcomeTally
    ) {
        let delivery = ending.delivery
        add(delivery, name, reason, to: &tally)
        if stream.isOn {
            tally.note(
                result, of: delivery, reason: reason,
                attempts: delivery.attempt - min(1, delivery.attempt), unixMs: ending.unixMs,
                stream)
        }
        onOutcome?(
            DeliveryOutcome(
                result == .superseded ? .delivered : .failed, delivery, reason: reason, code: 0))
        logger.info("delivery \(name)", metadata: fields(delivery, reason))
    }

    private func retried(
        _ ending: LaneEnding, atUnixMs: UInt64, _ tally: inout OutcomeTally
    ) {
        let (delivery, outcome) = (ending.delivery, ending.outcome)
        add(delivery, "retried", outcome.reason, to: &tally)
        if stream.isOn {
            tally.note(
                .retried, of: delivery, reason: outcome.reason, attempts: delivery.attempt,
                unixMs: ending.unixMs, stream)
        }
        onOutcome?(
            DeliveryOutcome(
                .retried, delivery, reason: outcome.reason, code: outcome.providerCode))
        guard logger.logLevel <= .debug else { return }
        var metadata = fields(delivery, outcome.reason)
        metadata["delivery.retry_in_ms"] = "\(atUnixMs - min(atUnixMs, ending.unixMs))"
        if !outcome.detail.isEmpty { metadata["detail"] = "\(outcome.detail)" }
        logger.debug("delivery will be tried again", metadata: metadata)
    }

    private func failed(
        _ ending: LaneEnding, _ reason: String, wasSent: Bool, _ tally: inout OutcomeTally
    ) {
        let (delivery, outcome) = (ending.delivery, ending.outcome)
        add(delivery, "failed", reason, to: &tally)
        if stream.isOn {
            tally.note(
                reason == "expired" ? .expired : .dead, of: delivery, reason: reason,
                attempts: delivery.attempt - (wasSent ? 0 : min(1, delivery.attempt)),
                unixMs: ending.unixMs, stream)
        }
        onOutcome?(
            DeliveryOutcome(.failed, delivery, reason: reason, code: outcome.providerCode))
        var metadata = fields(delivery, reason)
        if !outcome.detail.isEmpty { metadata["detail"] = "\(outcome.detail)" }
        logger.info("delivery failed", metadata: metadata)
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

extension OutcomeRecord {
    /// One line covers all equal outcomes of a lane within an interval.
    func write(_ line: LaneLine, of lane: LaneKey) {
        var fields: Logger.Metadata = [
            "plugin.instance": "\(lane.name)", "app": "\(lane.app)",
            "reason": "\(line.reason)", "count": "\(line.count)",
        ]
        if !line.detail.isEmpty { fields["detail"] = "\(line.detail)" }
        switch line.what {
        case .retried: logger.warning("deliveries will be tried again", metadata: fields)
        case .failed: logger.error("deliveries failed for good", metadata: fields)
        case .lost:
            logger.warning(
                line.reason == "taken_over"
                    ? "deliveries were taken over by another gateway"
                    : "deliveries were dropped from memory, the store did not extend their leases",
                metadata: fields)
        }
    }

    func leasesLost(_ lane: LaneKey, count: Int) {
        metrics.leasesLost[lane.name, lane.app].add(Int64(count))
    }

    func held(_ lane: LaneKey, _ change: LaneHoldChange) {
        switch change {
        case .held(let cause, let why):
            logger.error("\(Self.words(cause))", metadata: Self.fields(lane, cause, why))
        case .back(let cause, let heldMs):
            var fields = Self.fields(lane, cause, nil)
            fields["held_ms"] = "\(heldMs)"
            fields["waiting"] = "\(waitingCount())"
            logger.notice("provider is back", metadata: fields)
        case .forgotten(let cause):
            logger.notice(
                "sender is no longer held, nothing waits for it",
                metadata: Self.fields(lane, cause, nil))
        }
    }

    private static func words(_ cause: Breaker.Cause) -> String {
        switch cause {
        case .down: "provider seems to be down, its deliveries wait"
        case .misconfigured:
            "provider refuses this sender's credentials or settings, its deliveries wait"
        case .throttled: "provider asks to slow down, its deliveries wait"
        }
    }

    private static func fields(
        _ lane: LaneKey, _ cause: Breaker.Cause, _ why: Outcome?
    ) -> Logger.Metadata {
        var fields: Logger.Metadata = [
            "plugin.instance": "\(lane.name)", "app": "\(lane.app)",
            "cause": "\(cause.rawValue)", "reason": "\(why?.reason ?? "")",
        ]
        if let why, !why.detail.isEmpty { fields["detail"] = "\(why.detail)" }
        return fields
    }
}
