/// How a delivery ended, as receivers of outcomes are told.
public enum OutcomeResult: UInt8, Sendable, Hashable, CaseIterable {
    /// The provider took it.
    case delivered = 1
    /// It failed for good and is a dead letter.
    case dead = 2
    /// Its time was over before it could be delivered; it is a dead letter, too.
    case expired = 3
    /// The user opened the notification on a device.
    case opened = 4

    /// An outcome leaves out a longer text, so that a batch always has room for one.
    static let textBytesMax = 1_024

    /// `delivered`, `dead`, ...
    public var name: String { "\(self)" }

    /// The result of a name, or nil.
    public init?(name: String) {
        guard let found = Self.allCases.first(where: { $0.name == name }) else { return nil }
        self = found
    }
}

/// Which outcomes somebody wants.
public struct OutcomeWish: Sendable, Hashable {
    /// The results.
    public var results: Set<OutcomeResult>
    /// The routes; nil: all.
    public var routes: Set<String>?

    /// Wants these.
    public init(
        results: Set<OutcomeResult> = Set(OutcomeResult.allCases), routes: Set<String>? = nil
    ) {
        self.results = results
        self.routes = routes
    }

    /// Whether an outcome is wanted.
    public func takes(_ result: OutcomeResult, route: String) -> Bool {
        results.contains(result) && routes?.contains(route) ?? true
    }

    /// Whatever one of several wants.
    public static func any(of wishes: [OutcomeWish]) -> OutcomeWish {
        var out = OutcomeWish(results: [], routes: [])
        for wish in wishes {
            out.results.formUnion(wish.results)
            out.routes = wish.routes.flatMap { own in out.routes?.union(own) }
        }
        return out
    }
}

/// What a push carries so that its app can say that it was opened: the event and the route.
///
/// Equal for all devices of a content, so that the content is still rendered once.
public struct OpenMark: Sendable, Hashable {
    /// The member of a push's data.
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

    /// Reads what a push carried; nil: it is none of ours.
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
