public import SignalboxCore

/// An operator's order to cancel deliveries: those received before a time that match every field that is set.
///
/// Nothing is searched: a delivery is ended when its turn comes. So cancelling millions costs nothing, and none that
/// is due later is missed.
public struct CancelOrder: Sendable, Equatable {
    /// Only of this sender.
    public var sender: String?
    /// Only of this route.
    public var route: String?
    /// Only for this user.
    public var user: String?
    /// Only of this app.
    public var app: String?
    /// Only of this event.
    public var eventID: UInt64?
    /// Only of events that were received before this time, in Unix milliseconds.
    public var beforeUnixMs: UInt64

    /// Makes an order for everything that was received before a time.
    public init(beforeUnixMs: UInt64) { self.beforeUnixMs = beforeUnixMs }

    /// Whether a delivery is cancelled.
    public func covers(_ delivery: Delivery) -> Bool {
        delivery.content.receivedUnixMs < beforeUnixMs
            && sender.map { $0 == delivery.sender } ?? true
            && route.map { $0 == delivery.route } ?? true
            && user.map { $0.hasSameBytes(as: delivery.device.user) } ?? true
            && app.map { $0 == delivery.device.app } ?? true
            && eventID.map { $0 == delivery.eventID } ?? true
    }
}
