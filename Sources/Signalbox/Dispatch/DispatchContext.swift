internal import Logging
internal import SignalboxConfig
internal import SignalboxCore
internal import SignalboxThreads

/// What everything on the way of an event shares.
struct DispatchContext: Sendable {
    let machinery: Machinery
    let store: any GatewayStore
    let live: Live
    let ids: IDSource
    /// How log lines name users.
    let users: UserNames
    /// What operators have paused.
    let pauses: PauseBook
    /// Who has changed what.
    let audit: Audit
    /// What belongs to distributed traces.
    let spans: SpanBook
    /// Tells receivers how deliveries end.
    let outcomes: OutcomeStream

    /// Records a change where the current configuration says.
    func record(_ change: Audit.Record) {
        audit.write(change, path: live.now.plan.config.auditPath)
    }

    var limits: Limits { machinery.limits }
    var workers: WorkerThreads { machinery.workers }
    var alarms: AlarmClock { machinery.alarms }
    var logger: Logger { machinery.logger }
    var metrics: GatewayMetrics { machinery.metrics }
    /// Milliseconds since 1970.
    var clock: @Sendable () -> UInt64 { machinery.clock }
}
