internal import SignalboxCore

/// What operators have paused and cancelled of a lane.
public struct LanePause: Sendable, Equatable {
    /// The sender: nothing is leased and nothing is sent.
    public var isWhole: Bool
    /// Routes, whose deliveries are put aside when their turn comes.
    public var routes: Set<String>
    /// Deliveries that are ended instead of sent.
    public var cancelled: [CancelOrder]
    /// Users whose deliveries are ended, too.
    public var forgotten = ForgottenUsers()

    /// Nothing, unless told otherwise.
    public init(isWhole: Bool = false, routes: Set<String> = [], cancelled: [CancelOrder] = []) {
        self.isWhole = isWhole
        self.routes = routes
        self.cancelled = cancelled
    }

    /// Whether nothing is ended.
    var cancelsNothing: Bool { cancelled.isEmpty && forgotten.count == 0 }

    /// Why a delivery is ended; nil: it is not.
    func cancelReason(of delivery: Delivery) -> String? {
        guard delivery.kind == .push else { return nil }
        if forgotten.covers(delivery) { return "forgotten" }
        return cancelled.contains { $0.covers(delivery) } ? "cancelled" : nil
    }
}
