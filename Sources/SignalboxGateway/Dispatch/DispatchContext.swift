package import Logging
internal import SignalboxConfig
package import SignalboxCore
package import SignalboxThreads

/// What everything on the way of an event shares.
package struct DispatchContext: Sendable {
    package let machinery: Machinery
    package let store: any GatewayStore
    package let live: Live
    package let ids: IDSource
    /// How log lines name users.
    package let users: UserNames
    /// What operators have paused.
    package let pauses: PauseBook
    /// Who has changed what.
    package let audit: Audit
    /// What belongs to distributed traces.
    let spans: SpanBook
    /// Tells receivers how deliveries end.
    package let outcomes: OutcomeStream

    /// Records a change where the current configuration says.
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
