package import Logging
internal import SignalboxConfig
package import SignalboxCore
package import SignalboxThreads

/// What all stages of an event's dispatch share.
package struct DispatchContext: Sendable {
    package let machinery: Machinery
    package let store: any GatewayStore
    package let live: Live
    package let ids: IDSource
    /// How log lines name users.
    package let users: UserNames
    /// What operators have paused.
    package let pauses: PauseBook
    /// The audit trail.
    package let audit: Audit
    /// Spans of distributed traces.
    let spans: SpanBook
    /// Tells receivers how deliveries end.
    package let outcomes: OutcomeStream

    /// Records a change in the log or file that the current configuration names.
    package func record(_ change: Audit.Record) {
        audit.write(change, path: live.now.plan.config.auditPath)
    }

    package var limits: Limits { machinery.limits }
    package var workers: WorkerThreads { machinery.workers }
    package var alarms: AlarmClock { machinery.alarms }
    package var logger: Logger { machinery.logger }
    package var metrics: GatewayMetrics { machinery.metrics }
    /// Milliseconds since 1970.
    package var clock: @Sendable () -> UInt64 { machinery.clock }
}
