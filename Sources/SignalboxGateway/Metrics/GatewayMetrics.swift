internal import SignalboxCore
package import SignalboxObservability

/// All metrics of a gateway: each with its name, help and labels, as docs/metrics.md lists them.
///
/// Counters and histograms are updated as things happen, gauges at each scrape (`MetricScrape`).
package final class GatewayMetrics: Sendable {
    // MARK: Events

    package let requests = Counters(
        "signalbox_requests_total",
        "answered requests; `instance`: `devices` for `/v1`, empty for unserved paths",
        ["instance", "status"])
    package let accepts = Histograms(
        "signalbox_accept_seconds", "time from a request's arrival to its answer", ["instance"])
    let itemsRejected = Counters(
        "signalbox_items_rejected_total", "rejected items of webhooks", ["instance", "reason"])
    package let events = Counters(
        "signalbox_events_total", "events, by what happened to them", ["source", "result"])
    let sourceBatches = Counters(
        "signalbox_source_batches_total",
        "batches of plugins that take events in by themselves: `stored`, or to be emitted `again`",
        ["instance", "result"])
    package let sourceRunning = Gauges(
        "signalbox_source_running", "whether a plugin that takes events in by itself does so",
        ["instance"])
    let recipientsSkipped = Counters(
        "signalbox_recipients_skipped_total", "recipients without a delivery", ["route", "reason"])

    // MARK: Deliveries

    package let deliveries = Counters(
        "signalbox_deliveries_total",
        "attempts, by how they ended: `delivered`, `retried`, `failed`, `cancelled`, `superseded`",
        ["route", "sender", "result", "reason"])
    package let laneDeliveries = Counters(
        "signalbox_lane_deliveries_total",
        "attempts of a lane: `delivered`, `retried`, `failed`", ["sender", "app", "result"])
    let deliveryTimes = Histograms(
        "signalbox_delivery_seconds",
        "time from a request's arrival to the end of a delivery: `delivered`, `failed`, `gone`",
        ["sender", "result"])
    let queueWaits = Histograms(
        "signalbox_queue_wait_seconds",
        "time from a request's arrival until a delivery is handed to its sender for the first time",
        ["sender"])
    package let providerTimes = Histograms(
        "signalbox_provider_seconds", "time from sending a request to the provider's answer",
        ["sender"])
    package let shortened = Counters(
        "signalbox_shortened_total",
        "payloads whose texts were shortened, or from which members were left out",
        ["sender", "field"])
    package let waiting = Gauges(
        "signalbox_deliveries_waiting", "deliveries that are not settled, on disk or in memory")
    package let inMemory = Gauges(
        "signalbox_deliveries_in_memory", "deliveries of a lane that are ready or in flight",
        ["sender", "app"])
    package let lanesQueued = Gauges(
        "signalbox_lanes_queued",
        "senders and apps that wait for a place, since too many are in use")
    let leasesLost = Counters(
        "signalbox_leases_lost_total",
        "deliveries dropped from memory: lease lost, or not extended in time", ["sender", "app"])
    let deadTokens = Counters(
        "signalbox_dead_tokens_total", "tokens that a provider reported dead",
        ["source", "registry"])
    package let senderHeld = Gauges(
        "signalbox_sender_held", "whether the sender is held and probes its provider",
        ["sender", "app"])
    package let senderState = Gauges(
        "signalbox_sender_state", "whether a lane is in this state",
        ["sender", "app", "state"])
    package let paused = Gauges(
        "signalbox_paused", "whether an operator has paused this `sender` or `route`",
        ["kind", "name"])
    package let pausedSeconds = Gauges(
        "signalbox_paused_seconds", "for how long an operator has paused this `sender` or `route`",
        ["kind", "name"])
    let connectionEvents = Counters(
        "signalbox_connection_events_total", "events of push connections", ["sender", "event"])
    let stranded = Counters(
        "signalbox_stranded_total", "due deliveries whose sender was asleep", ["sender"])

    // MARK: Store

    let commits = Histograms(
        "signalbox_commit_seconds", "time until the store has the deliveries of a request")
    /// The series of `commits`.
    let commitTime: Histogram
    package let damaged = Counters(
        "signalbox_damaged_total",
        "rows that cannot be read: deliveries become dead letters (`damaged`), other rows are left out"
    )
    let deadStored = Gauges(
        "signalbox_dead_letters", "dead letters that are stored, counted every 30 s")
    let deadRemoved = Counters(
        "signalbox_dead_removed_total",
        "dead letters removed by `gateway.dead`: `old`, or `surplus` (too many)", ["why"])
    package let diskFull = Gauges(
        "signalbox_disk_full",
        "whether only the reserve is left, or the database has no room: events get 503")
    let diskFree = Gauges(
        "signalbox_disk_free_bytes", "free space on the disk of the data folder")
    let diskReserve = Gauges(
        "signalbox_disk_reserve_bytes", "free space below which events get 503")
    package let databaseGone = Gauges(
        "signalbox_database_gone", "whether the open database file was removed or replaced")
    package let nameTaken = Gauges(
        "signalbox_name_taken", "whether another gateway with this one's name uses the database")
    package let storeFailing = Gauges(
        "signalbox_store_failing",
        "whether the last write failed, outcomes cannot be written, or the log cannot be copied; "
            + "with PostgreSQL: an outage")
    let storeFaults = Counters(
        "signalbox_store_faults_total", "failed commits: a full disk, an I/O error")
    let storeCommits = Counters(
        "signalbox_store_commits_total", "commits by the time that they took", ["desk", "ms"])
    let storeConnects = Counters("signalbox_store_connects_total", "connections made", ["desk"])
    let storeJobsWaiting = Gauges(
        "signalbox_store_jobs_waiting", "jobs that wait for the connection", ["desk"])
    let storeRefused = Counters(
        "signalbox_store_refused_total",
        "jobs refused because the database was away or too slow", ["desk"])
    let storeTimeouts = Counters(
        "signalbox_store_timeouts_total",
        "statements and commits without an answer in time, and waits for locks", ["desk"])

    // MARK: Fleet

    package let fleetGateways = Gauges(
        "signalbox_fleet_gateways",
        "gateways that use the store: `live`, `silent`, `stopped`, `gone`", ["state"])
    package let fleetConfigurations = Gauges(
        "signalbox_fleet_configurations",
        "different configurations among the live gateways; more than 1 is a mistake, "
            + "except during a change")
    package let fleetWaiting = Gauges(
        "signalbox_fleet_waiting", "deliveries of a lane that no gateway has leased",
        ["sender", "app"])
    package let fleetLeased = Gauges(
        "signalbox_fleet_leased", "deliveries of a lane that a gateway has leased",
        ["sender", "app"])
    package let fleetLag = Gauges(
        "signalbox_fleet_lag_seconds", "how long the oldest of those that are due has been due",
        ["sender", "app"])

    // MARK: Receivers of outcomes

    let outcomesSent = Counters(
        "signalbox_outcomes_sent_total", "outcomes that a receiver took", ["receiver"])
    let outcomeRequests = Counters(
        "signalbox_outcomes_requests_total", "batches posted", ["receiver", "result"])
    package let outcomesWaiting = Gauges(
        "signalbox_outcomes_waiting",
        "outcomes on disk after the receiver's position; 0 if another gateway sends", ["receiver"])
    package let outcomesHeld = Gauges(
        "signalbox_outcomes_held", "whether the receiver is down or rejects batches", ["receiver"])
    let outcomesLost = Counters(
        "signalbox_outcomes_lost_total", "outcomes dropped as too old or too many", ["receiver"])

    // MARK: Tracing

    let spans = Counters(
        "signalbox_spans_total", "spans for the receiver of `gateway.tracing`: `sent`, `dropped`",
        ["result"])

    // MARK: Plugins

    let pluginFaults = Counters(
        "signalbox_plugin_faults_total", "violations of the contract; the log has the details",
        ["instance"])
    let slowCalls = Counters(
        "signalbox_slow_calls_total", "calls of workers into plugins that took over a second",
        ["instance", "role", "call"])
    /// Metrics that plugins define, including isolated ones through the host.
    package let plugins = PluginMetrics()

    // MARK: Listeners and changes

    package let connections = Gauges(
        "signalbox_connections", "open connections of clients", ["listener"])
    package let limitsReached = Counters(
        "signalbox_limit_reached_total",
        "connections closed, or requests refused, because of a limit of the listener",
        ["listener", "limit"])
    let auditFailures = Counters(
        "signalbox_audit_failures_total", "changes that could not be written to the audit file")

    // MARK: The gateway

    let buildInfo = Gauges(
        "signalbox_build_info", "always 1: which gateway answered", ["gateway", "version"])
    let reloadSuccessful = Gauges(
        "signalbox_config_last_reload_successful",
        "whether the last reload, or the start, took the configuration")
    let reloadTime = Gauges(
        "signalbox_config_last_reload_success_timestamp_seconds",
        "when the configuration in effect was taken, in Unix seconds")
    package let logLinesDropped = Counters(
        "signalbox_log_lines_dropped_total", "log lines dropped because nobody read them in time")
    package let certificates = Gauges(
        "signalbox_certificate_expires_unix_seconds",
        "when a certificate of the listener, or a root of its clients, expires",
        ["use", "subject"])
    package let cpu = Counters(
        "process_cpu_seconds_total", "processor time, user and system", parts: 1_000)
    package let residentBytes = Gauges("process_resident_memory_bytes", "resident memory")
    package let virtualBytes = Gauges("process_virtual_memory_bytes", "virtual memory")
    package let threads = Gauges("process_threads", "threads")
    package let openDescriptors = Gauges("process_open_fds", "open file descriptors")
    package let mostDescriptors = Gauges("process_max_fds", "limit of file descriptors")
    package let startTime = Gauges(
        "process_start_time_seconds", "when the process started, in Unix seconds")

    package init() { commitTime = commits[] }

    /// All of the above.
    package var families: [any MetricFamily] {
        Mirror(reflecting: self).children.compactMap { $0.value as? any MetricFamily }
            + plugins.families
    }

    /// The current page, in Prometheus' text format.
    package var text: String { MetricPage(families).text }
}

// Updates made from more than one place.
extension GatewayMetrics {
    package func outcome(
        route: String, sender: String, result: String, reason: String, count: Int64 = 1
    ) { deliveries[route, sender, result, reason].add(count) }

    package func request(instance: String, status: Int) { requests[instance, String(status)].add() }

    package func event(source: String, result: String) { events[source, result].add() }

    /// A configuration was applied or rejected.
    func reloaded(isTaken: Bool, unixMs: UInt64) {
        reloadSuccessful.set(isTaken)
        if isTaken { reloadTime.set(Double(unixMs) / 1_000) }
    }

    package func skipped(route: String, reason: String) { recipientsSkipped[route, reason].add() }
}
