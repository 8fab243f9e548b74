internal import SignalboxCore
internal import SignalboxDispatch
internal import SignalboxHTTP
internal import SignalboxOffline
internal import SignalboxPage

/// The admin page: its files, and `GET /live`, which updates it.
struct PageAdmin: Sendable {
    /// A browser loads these without a token; they reveal nothing about this gateway.
    static let openPaths = Set(PageFile.all.map(\.path))

    /// The page may only run its own scripts, only talk to its own origin, and not be framed.
    private static let policy = """
        default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self' data:; \
        base-uri 'none'; form-action 'none'; frame-ancestors 'none'
        """

    let feed: LiveFeed

    var paths: [AdminPath] {
        PageFile.all.map { file in
            AdminPath(AdminCall(.shows, file.path, "A file of the admin page.", nil)) { _, _ in
                HTTPServerAnswer(
                    status: 200,
                    headers: [
                        Attribute("content-type", file.type),
                        Attribute("content-security-policy", Self.policy),
                    ], body: file.bytes)
            }
        } + [AdminPath(.live) { _, _ in feed.open() }]
    }

    /// Header fields of every admin answer: no type sniffing, no caching, no referrer, and no access from other
    /// origins.
    static let protection = [
        Attribute("x-content-type-options", "nosniff"), Attribute("cache-control", "no-store"),
        Attribute("referrer-policy", "no-referrer"),
        Attribute("cross-origin-resource-policy", "same-origin"),
    ]
}

extension RouteGraph {
    /// Nodes and edges, for the page.
    var json: JSONValue {
        [
            "nodes": .array(
                nodes.map { node in
                    ["column": .string("\(node.column)"), "name": .string(node.name)]
                }),
            "edges": .array(
                edges.map { edge in
                    [
                        "from": .integer(Int64(edge.from)), "to": .integer(Int64(edge.to)),
                        "labels": .array(edge.labels.map { .string($0) }),
                    ]
                }),
        ]
    }
}
