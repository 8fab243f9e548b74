internal import SignalboxHTTP

/// What the admin listener serves under one path and method.
struct AdminPath: Sendable {
    typealias Answer = @Sendable (HTTPServerRequest) async -> HTTPServerAnswer

    /// `/dead`; with `/*` at its end, everything below without a path of its own.
    let path: String
    /// `GET`, which includes HEAD, or `POST`.
    let method: String
    /// Whether calls are recorded: it changes what runs or is stored, or shows whole tokens.
    let isRecorded: Bool
    let answer: Answer

    /// A path that only shows something.
    static func show(_ path: String, _ answer: @escaping Answer) -> AdminPath {
        AdminPath(path: path, method: "GET", isRecorded: false, answer: answer)
    }

    /// A path that shows otherwise secret data.
    static func export(_ path: String, _ answer: @escaping Answer) -> AdminPath {
        AdminPath(path: path, method: "GET", isRecorded: true, answer: answer)
    }

    /// A path that takes parameters in its body and changes nothing.
    static func ask(_ path: String, _ answer: @escaping Answer) -> AdminPath {
        AdminPath(path: path, method: "POST", isRecorded: false, answer: answer)
    }

    /// A path that changes something.
    static func change(_ path: String, _ answer: @escaping Answer) -> AdminPath {
        AdminPath(path: path, method: "POST", isRecorded: true, answer: answer)
    }

    fileprivate var methods: [String] { method == "GET" ? ["GET", "HEAD"] : [method] }
}

/// The paths of the admin listener.
struct AdminPaths: Sendable {
    enum Match {
        case found(AdminPath)
        case refused(HTTPServerAnswer)
    }

    private let paths: [AdminPath]

    init(_ paths: [AdminPath]) { self.paths = paths }

    func find(_ method: String, _ path: String) -> Match {
        var found = paths.filter { $0.path == path }
        if found.isEmpty {
            found = paths.filter { $0.path.hasSuffix("/*") && path.hasPrefix($0.path.dropLast()) }
        }
        if let match = found.first(where: { $0.methods.contains(method) }) { return .found(match) }
        guard !found.isEmpty else {
            let known = Set(paths.compactMap { $0.path.split(separator: "/").first })
            let names = known.sorted().map { "/\($0)" }.joined(separator: ", ")
            let words = "nothing is served under this path; known: \(names)"
            return .refused(Problem(404, words).answer)
        }
        return .refused(Problem.methodNotAllowed(found.flatMap(\.methods)))
    }
}
