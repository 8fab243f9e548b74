internal import Logging
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
    /// Tells receivers how deliveries end.
    let outcomes: OutcomeStream

    var limits: Limits { machinery.limits }
    var workers: WorkerThreads { machinery.workers }
    var alarms: AlarmClock { machinery.alarms }
    var logger: Logger { machinery.logger }
    var metrics: GatewayMetrics { machinery.metrics }
    /// Milliseconds since 1970.
    var clock: @Sendable () -> UInt64 { machinery.clock }
}
