internal import SignalboxCore
internal import SignalboxDispatch
internal import SignalboxHTTP

/// `GET /paused`, `POST /pause` and `POST /resume` on the admin listener.
struct PauseAdmin: Sendable {
    private static let wordsMax = 200
    let context: DispatchContext
    let lanes: LaneTable

    var paths: [AdminPath] {
        [
            .show("/paused") { _ in
                .json(.object([.init("paused", .array(context.pauses.all.map(\.json)))]))
            },
            .change("/pause") { request in
                await answer(request) { try await pause($0, $1, $2, from: request.remote) }
            },
            .change("/resume") {
                await answer($0) { kind, name, _ in try await resume(kind, name) }
            },
        ]
    }

    private func answer(
        _ request: HTTPServerRequest,
        _ change: (PauseEntry.Kind, String, AdminBody) async throws -> HTTPServerAnswer
    ) async -> HTTPServerAnswer {
        await AdminBody.answer {
            let body = try AdminBody(
                request.body,
                ["sender": .name, "route": .name, "by": .text, "reason": .text])
            let named = PauseEntry.Kind.allCases.compactMap { kind in
                body.text(kind.rawValue).map { (kind, $0) }
            }
            guard named.count == 1, let (kind, name) = named.first else {
                return Problem(400, "give either sender or route, with its name").answer
            }
            return try await change(kind, name, body)
        }
    }

    private func pause(
        _ kind: PauseEntry.Kind, _ name: String, _ body: AdminBody, from address: String
    ) async throws -> HTTPServerAnswer {
        let live = context.live.now
        let known =
            switch kind {
            case .sender: Array(live.instances.senders.keys)
            case .route: live.plan.routes.map(\.name)
            }
        guard known.contains(name) else {
            let hint = Suggestion.hint(for: name, among: known)
            return Problem(404, "there is no \(kind.rawValue) \"\(name)\"\(hint)").answer
        }
        func words(_ key: String) -> String {
            String((body.text(key) ?? "").filter { !$0.isNewline }.prefix(Self.wordsMax))
        }
        let by = words("by")
        // Without a name, the audit's: what the program itself asks for comes from no address.
        let caller = address.isEmpty ? "program" : "admin"
        let entry = PauseEntry(
            kind: kind, name: name,
            note: PauseNote(
                by: by.isEmpty ? caller : by, address: address, reason: words("reason"),
                sinceUnixMs: context.clock()))
        return changed(try await context.pauses.pause(entry))
    }

    /// Also what a reload has taken away can be resumed.
    private func resume(
        _ kind: PauseEntry.Kind, _ name: String
    ) async throws -> HTTPServerAnswer {
        changed(try await context.pauses.resume(kind, name) != nil)
    }

    private func changed(_ isChange: Bool) -> HTTPServerAnswer {
        if isChange { lanes.applyPauses(context.pauses) }
        return .json(
            .object([
                .init("changed", .bool(isChange)),
                .init("paused", .array(context.pauses.all.map(\.json))),
            ]))
    }
}

extension LaneTable {
    /// Tells all lanes what is paused.
    func applyPauses(_ pauses: PauseBook) {
        for lane in all { lane.pause(pauses.order(for: lane.key)) }
    }
}
