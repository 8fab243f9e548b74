package import SignalboxCore

extension RoutedEvent {
    /// Asks the filters and builders of all routes.
    ///
    /// Throws `StageFailure` if one is unavailable, and `NoIDs`; then nothing of the event may be stored.
    package mutating func ask(_ ports: inout some RoutePorts) throws(EventRefusal) {
        while let asked = next() {
            let route = router.routes[asked.route]
            switch filtered(asked, route.fields, &ports) {
            case .failure(let end): try note(end)
            case .success(let questions):
                for question in questions { try build(question, route.fields, &ports) }
            }
        }
    }

    /// The questions left for the builder.
    private mutating func filtered(
        _ asked: Question, _ route: Route, _ ports: inout some RoutePorts
    ) -> Result<[Question], StageFailure> {
        guard !route.filters.isEmpty else { return .success([asked]) }
        var questions = [asked]
        for filter in route.filters {
            var next: [Question] = []
            for question in questions {
                switch ports.filter(question, with: filter, on: route) {
                case .failure(let fault):
                    return .failure(
                        StageFailure(
                            route: asked.route, role: "filter", name: filter.instance, fault: fault)
                    )
                case .success(let made):
                    let (parts, drops) = question.filtered(made)
                    next += parts
                    dropped(drops, of: question)
                }
            }
            questions = next
        }
        return .success(questions)
    }

    private mutating func build(
        _ question: Question, _ route: Route, _ ports: inout some RoutePorts
    ) throws(EventRefusal) {
        switch ports.build(question, on: route) {
        case .failure(let fault):
            try note(
                StageFailure(
                    route: question.route, role: "builder", name: route.builder, fault: fault))
        case .success(let made):
            dropped(made.skips, of: question)
            let count = made.contents.reduce(0) { $0 + $1.targets.count }
            guard var ids = ports.takeIDs(count) else { throw .noIDs }
            built(made.contents, for: question, ids: &ids)
        }
    }

    private mutating func note(_ end: StageFailure) throws(EventRefusal) {
        guard end.fault.remedy != .resend else { throw .unavailable(end) }
        failed(end)
    }
}

/// Why nothing of a request is stored.
package enum EventRefusal: Error, CustomStringConvertible {
    /// The store gives no ids.
    case noIDs
    /// A filter or builder cannot answer now.
    case unavailable(StageFailure)
    /// A reload removed the source, and thereby its routes, after the event was received.
    case removed(source: String)
    /// A filter or builder failed, so nothing would be stored of the only event; `always`: it would fail again.
    case lost(who: String, always: Bool)

    package var description: String { answer.words }

    /// What the source is told.
    package var answer: StoreAnswer {
        switch self {
        case .noIDs: .unavailable("the store gives no ids")
        case .unavailable(let end): .unavailable("\(end.who) is unavailable")
        case .removed(let source): .unavailable("plugin \(source) was removed")
        case .lost(let who, always: true): .unprocessable("\(who) failed on this event")
        case .lost(let who, always: false): .unavailable("\(who) failed on this event")
        }
    }
}
