internal import SignalboxConfig
internal import SignalboxCore

/// The way of events through a configuration: source, route, builder, sender.
public struct RouteGraph: Sendable {
    /// One of the four columns.
    enum Column: Int, CaseIterable, Sendable {
        case source, route, builder, sender
    }

    struct Node: Sendable, Hashable {
        var column: Column
        var name: String
    }

    struct Edge: Sendable {
        var from: Int
        var to: Int
        /// Platforms, on the way to a sender; filters, on the way to a builder.
        var labels: [String] = []
    }

    private(set) var nodes: [Node] = []
    private(set) var edges: [Edge] = []

    /// Reads a configuration as far as it can be read; plugins are not loaded.
    public init(_ options: GatewayOptions) throws(ConfigurationError) {
        self.init(try options.readableConfig().routes.map(\.route))
    }

    init(_ routes: [Route]) {
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
    public var mermaid: String {
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

    /// Text inside quotes; Mermaid reads entities there.
    private static func quoted(_ text: String) -> String {
        Markup.escaped(text).replacing("&quot;", with: "#quot;").replacing("\n", with: " ")
    }
}
