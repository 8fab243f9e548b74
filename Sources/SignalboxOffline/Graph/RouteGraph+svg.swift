internal import SignalboxCore

extension RouteGraph {
    private enum Size {
        static let width = 190
        static let height = 34
        static let gapX = 90
        static let gapY = 18
        static let margin = 20
        static let top = 52
        /// Longer names are cut; the node's tooltip has the full name.
        static let letters = 24
    }

    /// The graph as a standalone image with four columns, from source to sender, for light and dark pages.
    package var svg: String {
        var rows: [Int: Int] = [:]
        var counts = [Int](repeating: 0, count: Column.allCases.count)
        for (index, node) in nodes.enumerated() {
            rows[index] = counts[node.column.rawValue]
            counts[node.column.rawValue] += 1
        }
        let most = max(1, counts.max() ?? 1)
        let width =
            2 * Size.margin + Column.allCases.count * Size.width + (Column.allCases.count - 1)
            * Size.gapX
        let height = Size.top + most * (Size.height + Size.gapY) + Size.margin
        func x(_ node: Node) -> Int {
            Size.margin + node.column.rawValue * (Size.width + Size.gapX)
        }
        func y(_ index: Int) -> Int {
            // Short columns are centred.
            let missing = most - counts[nodes[index].column.rawValue]
            return Size.top + (rows[index] ?? 0) * (Size.height + Size.gapY)
                + missing * (Size.height + Size.gapY) / 2
        }
        var out = """
            <svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 \(width) \(height)" width="\(width)" height="\(height)" \
            role="img" aria-label="Routes from source to sender">
            <style>
            svg { color: #1f2933; background: #fff; font: 13px system-ui, sans-serif; }
            @media (prefers-color-scheme: dark) { svg { color: #e4e7eb; background: #16191d; } }
            rect { fill: none; stroke: currentColor; } path { fill: none; stroke: currentColor; opacity: .45; }
            text { fill: currentColor; } .head { font-weight: 600; } .label { font-size: 11px; opacity: .75; }
            </style>

            """
        for (column, title) in zip(Column.allCases, ["source", "route", "builder", "sender"]) {
            let place = Size.margin + column.rawValue * (Size.width + Size.gapX)
            out += "<text class=\"head\" x=\"\(place)\" y=\"30\">\(title)</text>\n"
        }
        for edge in edges {
            let (x1, y1) = (x(nodes[edge.from]) + Size.width, y(edge.from) + Size.height / 2)
            let (x2, y2) = (x(nodes[edge.to]), y(edge.to) + Size.height / 2)
            let middle = (x1 + x2) / 2
            out += "<path d=\"M\(x1) \(y1) C\(middle) \(y1) \(middle) \(y2) \(x2) \(y2)\"/>\n"
        }
        // Once per node, since the labels of its edges would overlap.
        for index in nodes.indices where [.builder, .sender].contains(nodes[index].column) {
            let labels = Set(edges.filter { $0.to == index }.flatMap(\.labels)).sorted()
            let label = Markup.escaped(labels.joined(separator: ", "))
            let (right, middle) = (x(nodes[index]) - 6, y(index) + Size.height / 2 - 5)
            out +=
                "<text class=\"label\" text-anchor=\"end\" x=\"\(right)\" y=\"\(middle)\">\(label)</text>\n"
        }
        for (index, node) in nodes.enumerated() {
            let name = Markup.escaped(node.name)
            let short = Markup.escaped(
                node.name.count <= Size.letters
                    ? node.name : "\(node.name.prefix(Size.letters - 1))…")
            let round = node.column == .route ? Size.height / 2 : 6
            out += """
                <g><title>\(name)</title><rect x="\(x(node))" y="\(y(index))" width="\(Size.width)" \
                height="\(Size.height)" rx="\(round)"/><text x="\(x(node) + 12)" \
                y="\(y(index) + 22)">\(short)</text></g>

                """
        }
        return out + "</svg>\n"
    }
}
