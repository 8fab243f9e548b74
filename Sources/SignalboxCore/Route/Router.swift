/// Finds the routes of an event.
///
/// Indexed by source and type, so the cost depends on the routes that could match, not on the
/// number of routes.
public final class Router: Sendable {
    private struct SourceIndex: Sendable {
        var byType: [String: [Int]] = [:]
        var ofAnyType: [Int] = []
    }

    /// All routes, in the file's order.
    ///
    /// Each behind one reference, since each step of an event's way holds the route.
    package let routes: [Shared<Route>]
    /// Whether some route sets the badge to the user's counter.
    public let countsBadges: Bool
    private let index: [String: SourceIndex]
    private let byName: [String: Int]

    /// Indexes routes.
    public init(routes: [Route]) {
        self.routes = routes.map(Shared.init)
        countsBadges = routes.contains { $0.set.countsBadge }
        var index: [String: SourceIndex] = [:]
        var byName: [String: Int] = [:]
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
        self.index = index
        self.byName = byName
    }

    /// The rules of a route; the defaults if the configuration no longer has the route.
    public func rules(of name: String) -> DeliveryRules {
        byName[name].map { routes[$0].fields.rules } ?? DeliveryRules()
    }

    /// Indexes of the routes that take an event, in the file's order.
    public func matches(_ fields: EventFields) -> [Int] {
        candidates(fields).filter { routes[$0].fields.condition.holds(for: fields) }
    }

    /// Indexes of the routes whose source and type fit an event, in the file's order.
    public func candidates(_ fields: EventFields) -> [Int] {
        guard let source = index[fields.event.source] else { return [] }
        let ofType = source.byType[fields.event.type] ?? []
        // Each list is sorted already.
        return source.ofAnyType.isEmpty ? ofType : (ofType + source.ofAnyType).sorted()
    }
}
