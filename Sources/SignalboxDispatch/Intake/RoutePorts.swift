package import SignalboxCore

/// What an event's routes need from outside: filters, builders and ids. Thread: worker; no lock is held.
package protocol RoutePorts {
    /// What a filter makes of a question.
    mutating func filter(
        _ question: RoutedEvent.Question, with filter: Route.Filter, on route: Route
    ) -> Result<Filtered, StageFault>
    /// What the route's builder makes of a question.
    mutating func build(
        _ question: RoutedEvent.Question, on route: Route
    ) -> Result<BuildResult, StageFault>
    /// Ids for deliveries; nil if the store has reserved too few.
    mutating func takeIDs(_ count: Int) -> DeliveryIDs?
}

/// What a request's events need from outside on their way.
package protocol IntakePorts: RoutePorts {
    /// An id for an event; nil if the store has reserved none.
    mutating func takeEventID() -> UInt64?
}

/// A filter or builder gave no answer.
package struct StageFault: Error, CustomStringConvertible {
    /// For people; it contains no secret.
    package let description: String
    /// What to do about the event.
    package let remedy: Remedy

    /// What to do about an event that a filter or builder could not take.
    package enum Remedy: Sendable {
        /// It is unavailable: the source resends the event.
        case resend
        /// It failed on this event: the route makes no deliveries, and the event may be sent again.
        case giveUp
        /// It failed, and would fail the same way again.
        case giveUpForGood
    }

    /// Takes a message and the remedy.
    package init(_ message: String, _ remedy: Remedy) {
        (description, self.remedy) = (message, remedy)
    }
}

/// Something that a route did with an event and that people are told.
package enum RouteNotice: Sendable {
    /// The gateway leaves out recipients.
    case leftOut([FanOut.Skip], route: Int)
    /// A filter or builder leaves out recipients, on purpose.
    case dropped([FanOut.Skip], route: Int)
    /// A filter or builder failed.
    case failed(StageFailure)
}

/// Which filter or builder failed on an event, and why.
package struct StageFailure: Error, CustomStringConvertible {
    /// A place in the router.
    package let route: Int
    /// `filter` or `builder`.
    package let role: String
    /// Its name in gateway.yaml.
    package let name: String
    package let fault: StageFault

    /// `builder NAME`.
    package var who: String { "\(role) \(name)" }

    package var description: String { "\(who): \(fault)" }
}
