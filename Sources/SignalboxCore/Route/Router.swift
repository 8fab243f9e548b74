/// Finds the routes of an event.
///
/// Indexed by source and type, so that the cost follows the routes that could match and not the
/// number of routes.
public struct Router: Sendable {
    private struct SourceIndex: Sendable {
        var byType: [String: [Int]] = [:]
        var ofAnyType: [Int] = []
    }

    /// All routes, in the file's order.
    public let routes: [Route]
    /// Some route has users' counters as badges.
    public let countsBadges: Bool
    private var index: [String: SourceIndex] = [:]
    private var byName: [String: Int] = [:]

    /// Indexes routes.
    public init(routes: [Route]) {
        self.routes = routes
        countsBadges = routes.contains { $0.set.countsBadge }
        for (number, route) in routes.enumerated() {
            byName[route.name] = number
            for source in route.sources {
                if let types = route.condition.types {
                    for type in types {
                        index[source, default: .init()].byType[type, default: []].append(number)
                    }
                } else {
                    index[source, default: .init()].ofAnyType.append(number)
                }
            }
        }
    }

    /// The rules of a route; the defaults if a delivery is older than the file it came from.
    public func rules(of name: String) -> DeliveryRules {
        byName[name].map { routes[$0].rules } ?? DeliveryRules()
    }

    /// Numbers of the routes that take an event, in the file's order.
    public func matches(_ fields: EventFields) -> [Int] {
        guard let source = index[fields.event.source] else { return [] }
        let ofType = source.byType[fields.event.type] ?? []
        let holds = { (number: Int) in self.routes[number].condition.holds(for: fields) }
        // Each of the two is in order.
        if source.ofAnyType.isEmpty { return ofType.filter(holds) }
        return (ofType + source.ofAnyType).filter(holds).sorted()
    }
}
