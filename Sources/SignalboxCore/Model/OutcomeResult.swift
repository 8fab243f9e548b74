/// How a delivery ended, in the terms that receivers of outcomes see.
public enum OutcomeResult: UInt8, Sendable, Hashable, CaseIterable {
    /// The provider accepted it.
    case delivered = 1
    /// It failed permanently and is now a dead letter.
    case dead = 2
    /// It expired before it could be delivered, and is now a dead letter.
    case expired = 3
    /// The user opened the notification on a device.
    case opened = 4
    /// An operator cancelled it before it was sent.
    case cancelled = 5
    /// An attempt failed, and there will be another one.
    case retried = 6
    /// A device was registered, or registered again.
    case deviceRegistered = 7
    /// A device was removed.
    case deviceUnregistered = 8
    /// A provider called a device's token dead, so it was removed.
    case deviceDead = 9
    /// It was not sent, or not again: the provider accepted a newer one with its collapse key, or it was withdrawn.
    case superseded = 10

    /// The results sent to a receiver that lists none.
    public static let usual: Set<OutcomeResult> = [
        .delivered, .dead, .expired, .opened, .cancelled, .superseded,
    ]

    /// The result that reports a change of a device; nil if the change is not reported.
    public init?(_ kind: DeviceChange.Kind) {
        switch kind {
        case .registered: self = .deviceRegistered
        case .unregistered: self = .deviceUnregistered
        case .invalid: self = .deviceDead
        case .proven, .unproven: return nil
        }
    }

    /// Longest text of an outcome, in bytes; longer ones are left out, so that an outcome always fits a batch.
    static let textBytesMax = 1_024

    /// `delivered`, `dead`, ...
    public var name: String {
        switch self {
        case .deviceRegistered: "device_registered"
        case .deviceUnregistered: "device_unregistered"
        case .deviceDead: "device_dead"
        case .delivered, .dead, .expired, .opened, .cancelled, .retried, .superseded:
            "\(self)"
        }
    }

    /// The result with this name, or nil.
    public init?(name: String) {
        guard let found = Self.allCases.first(where: { $0.name == name }) else { return nil }
        self = found
    }
}

/// Which outcomes a receiver wants.
public struct OutcomeWish: Sendable, Hashable {
    /// The results.
    public var results: Set<OutcomeResult>
    /// The routes; nil for all.
    public var routes: Set<String>?

    /// Makes a wish for these results and routes.
    public init(
        results: Set<OutcomeResult> = OutcomeResult.usual, routes: Set<String>? = nil
    ) {
        self.results = results
        self.routes = routes
    }

    /// Whether an outcome is wanted.
    public func takes(_ result: OutcomeResult, route: String) -> Bool {
        results.contains(result) && routes?.contains(route) ?? true
    }

    /// The union of several wishes.
    public static func any(of wishes: [OutcomeWish]) -> OutcomeWish {
        var out = OutcomeWish(results: [], routes: [])
        for wish in wishes {
            out.results.formUnion(wish.results)
            out.routes = wish.routes.flatMap { own in out.routes?.union(own) }
        }
        return out
    }
}

/// The event and route that a push carries, so that its app can report that it was opened.
///
/// It is equal for all devices of a content, so the content is still rendered once.
public struct OpenMark: Sendable, Hashable {
    /// Name of the member in a push's data.
    public static let key = "signalbox_event"

    /// The event's id.
    public var eventID: UInt64
    /// The route's name.
    public var route: String

    /// Makes a mark.
    public init(eventID: UInt64, route: String) {
        self.eventID = eventID
        self.route = route
    }

    /// Reads the mark of a push; nil if the text is not one.
    public init?(_ text: String) {
        let parts = text.split(separator: ".", maxSplits: 1, omittingEmptySubsequences: false)
        guard parts.count == 2, let eventID = UInt64(parts[0]), eventID > 0, !parts[1].isEmpty,
            parts[1].utf8.count <= 64
        else { return nil }
        self.init(eventID: eventID, route: String(parts[1]))
    }

    /// `48213.support-replies`.
    public var text: String { "\(eventID).\(route)" }
}
