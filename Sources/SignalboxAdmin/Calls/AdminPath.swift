internal import SignalboxCore
internal import SignalboxHTTP

/// How the admin listener answers a call.
struct AdminPath: Sendable {
    typealias Body = @Sendable (AdminInput, HTTPServerRequest) async throws -> HTTPServerAnswer

    let call: AdminCall
    private let body: Body

    /// `body` may throw a `Problem`; other errors are the store's, and are answered with 503.
    init(_ call: AdminCall, _ body: @escaping Body) {
        self.call = call
        self.body = body
    }

    func answer(_ request: HTTPServerRequest) async -> HTTPServerAnswer {
        do {
            return try await body(try AdminInput(request, of: call), request)
        } catch let problem as Problem {
            return problem.answer
        } catch {
            return Problem.busy("\(error)")
        }
    }

    fileprivate var methods: [String] { call.method == "GET" ? ["GET", "HEAD"] : [call.method] }
}

/// The paths of the admin listener.
struct AdminPaths: Sendable {
    enum Match {
        case found(AdminPath)
        case refused(HTTPServerAnswer)
    }

    private let paths: [AdminPath]

    init(_ paths: [AdminPath]) {
        let calls = paths.map(\.call)
        self.paths = paths + [AdminPath(.openAPI) { _, _ in .json(AdminAPI.json(of: calls)) }]
    }

    func find(_ method: String, _ path: String) -> Match {
        var found = paths.filter { $0.call.path == path }
        if found.isEmpty {
            found = paths.filter {
                $0.call.path.hasSuffix("/*") && path.hasPrefix($0.call.path.dropLast())
            }
        }
        if let match = found.first(where: { $0.methods.contains(method) }) { return .found(match) }
        guard !found.isEmpty else {
            let known = Set(paths.compactMap { $0.call.path.split(separator: "/").first })
            let names = known.sorted().map { "/\($0)" }.joined(separator: ", ")
            let words = "nothing is served under this path; known: \(names)"
            return .refused(Problem(404, words).answer)
        }
        return .refused(Problem.methodNotAllowed(found.flatMap(\.methods)))
    }
}
