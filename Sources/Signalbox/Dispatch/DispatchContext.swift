internal import Logging
internal import SignalboxCore
internal import SignalboxDispatch
internal import SignalboxHTTP
internal import SignalboxThreads

/// What all lanes of a gateway share.
struct DispatchContext: Sendable {
    let limits: Limits
    let live: Live
    let workers: WorkerThreads
    let alarms: AlarmClock
    let engine: PushEngine
    let logger: Logger
    let metrics: GatewayMetrics
    /// What lanes share.
    let world: LaneWorld
    let store: any GatewayStore
    /// How log lines name users.
    let users: UserNames
    /// Tells sources of dead tokens.
    let feedback: Feedback
    /// Tells receivers how deliveries end.
    let outcomes: OutcomeStream
    /// Milliseconds since 1970.
    let clock: @Sendable () -> UInt64
}
