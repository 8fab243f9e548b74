internal import SignalboxCore
internal import SignalboxObservability

/// The gateway's own numbers; docs/metrics.md lists names and labels.
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

    func misbehaved(instance: String) {
        registry.counter("signalbox_plugin_faults_total", [("instance", instance)]).add()
    }

    func inMemory(_ lane: LaneKey, count: Int) {
        registry.gauge(
            "signalbox_deliveries_in_memory", [("sender", lane.sender), ("app", lane.app)]
        ).set(Int64(count))
    }

    func waiting(_ count: Int) {
        registry.gauge("signalbox_deliveries_waiting").set(Int64(count))
    }

    func deadToken(source: String, result: String) {
        registry.counter(
            "signalbox_dead_tokens_total", [("source", source), ("registry", result)]
        ).add()
    }

    func storeFault() { registry.counter("signalbox_store_faults_total").add() }
}
