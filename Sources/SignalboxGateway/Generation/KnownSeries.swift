internal import SignalboxConfig
internal import SignalboxCore
internal import SignalboxHTTP
internal import SignalboxObservability
internal import SignalboxPluginHost

/// Metric series that follow from a configuration.
struct KnownSeries {
    let metrics: GatewayMetrics

    /// Initialises known series to 0: without a first value, Prometheus cannot tell that a series rose.
    ///
    /// Reasons of providers and plugins are not known in advance.
    func show(_ generation: Generation) {
        let config = generation.plan.config
        for plugin in config.plugins { _ = metrics.pluginFaults[plugin.name] }
        for name in generation.instances.ingesting {
            for status in [200, 202, 400, 401, 404, 413, 500, 503] {
                _ = metrics.requests[name, String(status)]
            }
            _ = metrics.accepts[name]
        }
        for source in generation.instances.sources {
            for result in ["stored", "again"] {
                _ = metrics.sourceBatches[source.instanceName, result]
            }
            _ = metrics.accepts[source.instanceName]
        }
        for status in [404, 405] { _ = metrics.requests["", String(status)] }
        for status in [200, 204, 400, 401, 404, 503] {
            _ = metrics.requests["devices", String(status)]
        }
        let sources = generation.instances.ingesting.union(config.gateway.sources)
            .union(config.routes.flatMap(\.route.sources))
        for source in sources {
            for result in ["accepted", "duplicate", "unrouted", "unreached", "build_failed"] {
                _ = metrics.events[source, result]
            }
            for result in ["removed", "kept", "unknown"] { _ = metrics.deadTokens[source, result] }
        }
        for route in config.routes.map(\.route) {
            for reason in ["unknown_user", "no_sender", "no_token", "duplicate", "unnamed"] {
                _ = metrics.recipientsSkipped[route.name, reason]
            }
            for sender in Set(route.senders.values) { show(route: route.name, sender: sender) }
        }
        for (sender, roles) in generation.instances.senders {
            show(sender: sender, hasConnections: roles.http != nil)
        }
        for receiver in config.outcomeReceivers {
            _ = metrics.outcomesSent[receiver.name]
            _ = metrics.outcomesLost[receiver.name]
            for result in ["taken", "failed", "refused"] {
                _ = metrics.outcomeRequests[receiver.name, result]
            }
        }
    }

    private func show(route: String, sender: String) {
        _ = metrics.deliveries[route, sender, "delivered", "ok"]
        for reason in ["unreachable", "timeout", "timeout_unsent", "lost", "reset"] {
            _ = metrics.deliveries[route, sender, "retried", reason]
        }
        for reason in ["expired", "retries_exhausted"] {
            _ = metrics.deliveries[route, sender, "failed", reason]
        }
    }

    private func show(sender: String, hasConnections: Bool) {
        _ = LaneSeries(metrics, sender: sender)
        _ = metrics.stranded[sender]
        for field in ["body", "subtitle", "title", "data"] { _ = metrics.shortened[sender, field] }
        guard hasConnections else { return }
        for kind in PushPoolEvent.Kind.allCases {
            _ = metrics.connectionEvents[sender, kind.rawValue]
        }
    }
}
