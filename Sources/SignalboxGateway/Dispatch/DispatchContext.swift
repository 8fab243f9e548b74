package import Logging
internal import SignalboxConfig
package import SignalboxCore
package import SignalboxThreads

/// What all stages of an event's dispatch share.
package struct DispatchContext: Sendable {
    package let runtime: GatewayRuntime
    package let store: any GatewayStore
    package let current: CurrentGeneration
    package let ids: IDSource
    /// How log lines name users.
    package let users: UserNames
    /// What operators have paused.
    package let pauses: PauseOrders
    /// The audit trail.
    package let audit: Audit
    /// Spans of distributed traces.
    let spans: ActiveSpans
    /// Tells receivers how deliveries end.
    package let outcomes: OutcomeStream

    /// Records a change in the log or file that the current configuration names.
    package func record(_ change: Audit.Record) {
        audit.write(change, path: current.generation.plan.config.auditPath)
    }

    package var limits: Limits { runtime.limits }
    package var workers: WorkerThreads { runtime.workers }
    package var alarms: AlarmClock { runtime.alarms }
    package var logger: Logger { runtime.logger }
    package var metrics: GatewayMetrics { runtime.metrics }
    /// Milliseconds since 1970.
    package var clock: @Sendable () -> UInt64 { runtime.clock }
}
