internal import SignalboxCore
internal import SignalboxDispatch
internal import SignalboxObservability

/// The gateway's own metrics; docs/metrics.md lists names and labels.
struct GatewayMetrics: Sendable {
    let registry: MetricsRegistry

    func connectionEvent(sender: String, kind: String) {
        registry.counter(
            "signalbox_connection_events_total", [("sender", sender), ("event", kind)]
        ).add()
    }

    func outcome(
        route: String, sender: String, result: String, reason: String, count: Int64 = 1
    ) {
        registry.counter(
            "signalbox_deliveries_total",
            [("route", route), ("sender", sender), ("result", result), ("reason", reason)]
        ).add(count)
    }

    func request(instance: String, status: Int) {
        registry.counter(
            "signalbox_requests_total", [("instance", instance), ("status", String(status))]
        ).add()
    }

    func event(source: String, result: String) {
        registry.counter("signalbox_events_total", [("source", source), ("result", result)]).add()
    }

    func skipped(route: String, reason: String) {
        registry.counter(
            "signalbox_recipients_skipped_total", [("route", route), ("reason", reason)]
        ).add()
    }

    func rejected(instance: String, reason: String) {
        registry.counter(
            "signalbox_items_rejected_total", [("instance", instance), ("reason", reason)]
        ).add()
    }

    func shortened(sender: String, field: String) {
        registry.counter("signalbox_shortened_total", [("sender", sender), ("field", field)]).add()
    }

    func misbehaved(instance: String) {
        registry.counter("signalbox_plugin_faults_total", [("instance", instance)]).add()
    }

    func leasesLost(_ lane: LaneKey, count: Int) {
        registry.counter(
            "signalbox_leases_lost_total", [("sender", lane.name), ("app", lane.app)]
        ).add(Int64(count))
    }

    func inMemory(_ lane: LaneKey, count: Int) {
        registry.gauge(
            "signalbox_deliveries_in_memory", [("sender", lane.name), ("app", lane.app)]
        ).set(Int64(count))
    }

    /// A lane sends one delivery at a time, for this cause; nil: it sends all.
    func held(_ lane: LaneKey, _ cause: Breaker.Cause?) {
        registry.gauge(
            "signalbox_sender_held", [("sender", lane.name), ("app", lane.app)]
        ).set(cause == nil ? 0 : 1)
    }

    func waiting(_ count: Int) {
        registry.gauge("signalbox_deliveries_waiting").set(Int64(count))
    }

    func deadToken(source: String, result: String) {
        registry.counter(
            "signalbox_dead_tokens_total", [("source", source), ("registry", result)]
        ).add()
    }

    func damaged(_ count: Int) { registry.counter("signalbox_damaged_total").add(Int64(count)) }

    func diskFull(_ isFull: Bool) { registry.gauge("signalbox_disk_full").set(isFull ? 1 : 0) }

    func fileGone(_ isGone: Bool) {
        registry.gauge("signalbox_database_gone").set(isGone ? 1 : 0)
    }

    func nameTaken(_ isTaken: Bool) {
        registry.gauge("signalbox_name_taken").set(isTaken ? 1 : 0)
    }

    func storeFailing(_ isFailing: Bool) {
        registry.gauge("signalbox_store_failing").set(isFailing ? 1 : 0)
    }

    func stranded(_ lane: LaneKey) {
        registry.counter("signalbox_stranded_total", [("sender", lane.name)]).add()
    }

    func store(_ figures: [StoreFigure]) {
        for figure in figures {
            let metric =
                figure.name.hasSuffix("_total")
                ? registry.counter(figure.name, figure.labels)
                : registry.gauge(figure.name, figure.labels)
            metric.set(figure.value)
        }
    }

    func storeFault() { registry.counter("signalbox_store_faults_total").add() }

    /// Which gateway this is: always 1.
    func buildInfo(gateway: String, version: String) {
        registry.gauge("signalbox_build_info", [("gateway", gateway), ("version", version)]).set(1)
    }

    /// What all gateways of the store have to do.
    func fleet(_ fleet: Fleet) {
        let states = fleet.members.map { fleet.state(of: $0) }
        for state in Fleet.State.allCases {
            registry.gauge("signalbox_fleet_gateways", [("state", state.rawValue)])
                .set(Int64(states.count { $0 == state }))
        }
        registry.gauge("signalbox_fleet_configurations").set(Int64(fleet.configurationCount))
        for backlog in fleet.backlogs {
            let labels = [("sender", backlog.lane.name), ("app", backlog.lane.app)]
            registry.gauge("signalbox_fleet_waiting", labels).set(Int64(backlog.waiting))
            registry.gauge("signalbox_fleet_leased", labels).set(Int64(backlog.leased))
            registry.gauge("signalbox_fleet_lag_seconds", labels)
                .set(Int64(clamping: fleet.lagMs(of: backlog) / 1_000))
        }
    }

    // MARK: Receivers of outcomes

    func outcomesSent(_ receiver: String, count: Int) {
        registry.counter("signalbox_outcomes_sent_total", [("receiver", receiver)])
            .add(Int64(count))
    }

    func outcomeRequest(_ receiver: String, result: String) {
        registry.counter(
            "signalbox_outcomes_requests_total", [("receiver", receiver), ("result", result)]
        ).add()
    }

    func outcomesLost(_ receiver: String, count: Int) {
        registry.counter("signalbox_outcomes_lost_total", [("receiver", receiver)])
            .add(Int64(count))
    }

    func outcomesWaiting(_ receiver: String, count: UInt64) {
        registry.gauge("signalbox_outcomes_waiting", [("receiver", receiver)])
            .set(Int64(clamping: count))
    }

    func outcomesHeld(_ receiver: String, _ cause: Breaker.Cause?) {
        registry.gauge("signalbox_outcomes_held", [("receiver", receiver)])
            .set(cause == nil ? 0 : 1)
    }
}
