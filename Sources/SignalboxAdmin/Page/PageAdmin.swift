internal import SignalboxCore
internal import SignalboxDispatch
internal import SignalboxHTTP
internal import SignalboxOffline
internal import SignalboxPage

/// The admin page: its files, and `GET /live`, which keeps it up to date.
struct PageAdmin: Sendable {
    /// A browser loads these without a token; they say nothing of this gateway.
    static let openPaths = Set(PageFile.all.map(\.path))

    /// The page runs its own scripts alone, talks to its own origin alone, and is shown in no frame.
    private static let policy = """
        default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self' data:; \
        base-uri 'none'; form-action 'none'; frame-ancestors 'none'
        """

    let feed: LiveFeed

    var paths: [AdminPath] {
        PageFile.all.map { file in
            .show(file.path) { _ in
                HTTPServerAnswer(
                    status: 200,
                    headers: [
                        Attribute("content-type", file.type),
                        Attribute("content-security-policy", Self.policy),
                    ], body: file.bytes)
            }
        } + [.show("/live") { _ in feed.open() }]
    }

    /// Fields that every answer of the admin listener gets: a browser guesses no type, keeps nothing, tells no other
    /// page where it came from, and gives the answer to no other origin.
    static let protection = [
        Attribute("x-content-type-options", "nosniff"), Attribute("cache-control", "no-store"),
        Attribute("referrer-policy", "no-referrer"),
        Attribute("cross-origin-resource-policy", "same-origin"),
    ]
}

extension RouteGraph {
    /// Nodes and edges, for the page.
    var json: JSONValue {
        .object([
            .init(
                "nodes",
                .array(
                    nodes.map { node in
                        .object([
                            .init("column", .string("\(node.column)")),
                            .init("name", .string(node.name)),
                        ])
                    })),
            .init(
                "edges",
                .array(
                    edges.map { edge in
                        .object([
                            .init("from", .integer(Int64(edge.from))),
                            .init("to", .integer(Int64(edge.to))),
                            .init("labels", .array(edge.labels.map { .string($0) })),
                        ])
                    })),
        ])
    }
}
