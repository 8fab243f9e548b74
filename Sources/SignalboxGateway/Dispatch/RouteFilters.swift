package import SignalboxCore
package import SignalboxDispatch
package import SignalboxPluginHost

/// Runs events through the filters of their routes.
package struct RouteFilters {
    /// A filter that failed.
    package struct Fault: Error, CustomStringConvertible {
        package let filter: String
        package let fault: PluginFault

        /// Names the filter and the reason.
        package var description: String { "\(filter): \(fault)" }
    }

    package typealias OnDrops = ([FanOut.Skip], RoutedEvent.Question) -> Void

    package let nowUnixMs: UInt64
    /// Finds a filter; `isReplaced`: the one found before was stopped meanwhile.
    package let find: (_ name: String, _ isReplaced: Bool) -> (any Filtering)?

    package init(
        nowUnixMs: UInt64, find: @escaping (_ name: String, _ isReplaced: Bool) -> (any Filtering)?
    ) {
        self.nowUnixMs = nowUnixMs
        self.find = find
    }

    /// The questions left for the builder. `onDrops` is told whom a filter drops, and of which question.
    package func pass(
        _ asked: RoutedEvent.Question, _ route: Route, onDrops: OnDrops
    ) -> Result<[RoutedEvent.Question], Fault> {
        var questions = [asked]
        for filter in route.filters {
            var next: [RoutedEvent.Question] = []
            for question in questions {
                switch made(by: filter, of: question, route) {
                case .failure(let fault):
                    return .failure(Fault(filter: filter.instance, fault: fault))
                case .success(let made):
                    let (parts, drops) = question.filtered(made)
                    next += parts
                    if !drops.isEmpty { onDrops(drops, question) }
                }
            }
            questions = next
        }
        return .success(questions)
    }

    private func made(
        by filter: Route.Filter, of question: RoutedEvent.Question, _ route: Route
    ) -> Result<Filtered, PluginFault> {
        guard var role = find(filter.instance, false) else {
            return .failure(PluginFault(.unsupported, "the instance has no filter role"))
        }
        while true {
            let made = role.filter(
                question.fields.event, recipients: question.recipients, route: route.name,
                options: filter.options, nowUnixMs: nowUnixMs)
            // It was just replaced; its successor answers the same.
            guard case .failure(let fault) = made, fault.kind == .stopping,
                let next = find(filter.instance, true), next !== role
            else { return made }
            role = next
        }
    }
}
