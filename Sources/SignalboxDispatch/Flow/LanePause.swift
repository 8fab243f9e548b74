internal import SignalboxCore

/// What operators have paused and cancelled in a lane.
public struct LanePause: Sendable, Equatable {
    /// The sender's pause: nothing is leased and nothing is sent.
    public var whole: PauseNote?
    /// Pauses of routes, by name: their deliveries are set aside when their turn comes.
    public var routes: [String: PauseNote]
    /// Deliveries that are ended instead of sent.
    public var cancelled: [CancelOrder]
    /// Users whose deliveries are ended, too.
    public var forgotten = ForgottenUsers()

    /// Nothing, unless told otherwise.
    public init(
        whole: PauseNote? = nil, routes: [String: PauseNote] = [:], cancelled: [CancelOrder] = []
    ) {
        self.whole = whole
        self.routes = routes
        self.cancelled = cancelled
    }

    /// Whether the sender is paused.
    var isWhole: Bool { whole != nil }

    /// Whether nothing is ended.
    var cancelsNothing: Bool { cancelled.isEmpty && forgotten.count == 0 }

    /// Why a delivery is ended; nil if it is not.
    func cancelReason(of delivery: Delivery) -> String? {
        guard delivery.kind == .push else { return nil }
        if forgotten.covers(delivery) { return "forgotten" }
        return cancelled.contains { $0.covers(delivery) } ? "cancelled" : nil
    }
}

/// Who has paused something, when and why.
public struct PauseNote: Sendable, Equatable {
    /// Who, as the caller said, or else as the audit names the caller.
    public var by: String
    /// The caller's IP address; empty for the gateway's own process.
    public var address: String
    /// Why, as the caller said; may be empty.
    public var reason: String
    /// Since when, in Unix milliseconds.
    public var sinceUnixMs: UInt64

    /// Makes one.
    public init(by: String, address: String = "", reason: String = "", sinceUnixMs: UInt64) {
        self.by = by
        self.address = address
        self.reason = reason
        self.sinceUnixMs = sinceUnixMs
    }

    /// `by anna (127.0.0.1): wrong text`.
    public var words: String {
        "by \(by)" + (address.isEmpty ? "" : " (\(address))")
            + (reason.isEmpty ? "" : ": \(reason)")
    }
}
