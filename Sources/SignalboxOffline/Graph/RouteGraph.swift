internal import SignalboxConfig
package import SignalboxCore
package import SignalboxGateway

/// The routes of a configuration as a graph: source, route, builder, sender.
package struct RouteGraph: Sendable {
    /// One of the four columns.
    package enum Column: Int, CaseIterable, Sendable {
        case source, route, builder, sender
    }

    package struct Node: Sendable, Hashable {
        package var column: Column
        package var name: String
    }

    package struct Edge: Sendable {
        package var from: Int
        package var to: Int
        /// Platforms on edges to a sender; filters on edges to a builder.
        package var labels: [String] = []
    }

    package private(set) var nodes: [Node] = []
    package private(set) var edges: [Edge] = []

    /// Reads a configuration as far as it can be read; plugins are not loaded.
    package init(_ options: GatewayOptions) throws(ConfigurationError) {
        self.init(try options.readableConfig().routes.map(\.route))
    }

    package init(_ routes: [Route]) {
        for route in routes {
            let place = place(.route, route.name)
            for source in route.sources { connect(self.place(.source, source), place) }
            let builder = self.place(.builder, route.builder)
            let filters = route.filters.map(\.instance).joined(separator: ", ")
            connect(place, builder, label: filters.isEmpty ? nil : "filter: \(filters)")
            for (platform, sender) in route.senders.sorted(by: { $0.key < $1.key }) {
                connect(builder, self.place(.sender, sender), label: platform)
            }
        }
    }

    private mutating func place(_ column: Column, _ name: String) -> Int {
        let node = Node(column: column, name: name)
        if let known = nodes.firstIndex(of: node) { return known }
        nodes.append(node)
        return nodes.count - 1
    }

    private mutating func connect(_ from: Int, _ to: Int, label: String? = nil) {
        var index = edges.firstIndex { $0.from == from && $0.to == to }
        if index == nil {
            edges.append(Edge(from: from, to: to))
            index = edges.count - 1
        }
        guard let index, let label, !edges[index].labels.contains(label) else { return }
        edges[index].labels.append(label)
    }

    /// The graph for Mermaid.
    package var mermaid: String {
        var out = "flowchart LR\n"
        for column in Column.allCases {
            for (index, node) in nodes.enumerated() where node.column == column {
                let (open, close) = column == .route ? ("([", "])") : ("[", "]")
                out += "    n\(index)\(open)\"\(Self.quoted(node.name))\"\(close)\n"
            }
        }
        for edge in edges {
            let label = edge.labels.map(Self.quoted).joined(separator: ", ")
            out += "    n\(edge.from) -->\(label.isEmpty ? "" : "|\"\(label)\"|") n\(edge.to)\n"
        }
        return out
    }

    /// Text for use in quotes, where Mermaid decodes entities.
    private static func quoted(_ text: String) -> String {
        Markup.escaped(text).replacing("&quot;", with: "#quot;").replacing("\n", with: " ")
    }
}
