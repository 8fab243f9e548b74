package import SignalboxCore

/// What a configuration decides about events on their way to the store.
package protocol IntakeRules: Sendable {
    var router: Router { get }
    /// Whether the routing of events is kept for traces.
    var keepsHistory: Bool { get }
    /// `gateway.limits.devices_per_event`.
    var devicesPerEvent: Int { get }
    /// How long dedupe keys are kept unless the event's source says otherwise, in milliseconds.
    var dedupeMs: UInt64 { get }
    /// How long an event's dedupe key is kept, in milliseconds.
    func dedupeMs(of event: Event) -> UInt64
    /// Whether the source exists: a reload may have removed it.
    func hasSource(_ name: String) -> Bool
    /// Whether a device that the source registers stays with its other users, too.
    func sharesTokens(_ source: String) -> Bool
    /// The platforms on which a device's token means the same.
    func platforms(of device: Device) -> Set<String>
}
