internal import SignalboxCore
internal import SignalboxDispatch
internal import SignalboxGateway
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
                await answer(request) { try await pause($0, $1, $2) }
            },
            .change("/resume") { request in
                await answer(request) { try await resume($0, $1, $2) }
            },
        ]
    }

    private func answer(
        _ request: HTTPServerRequest,
        _ change: (PauseEntry.Kind, String, PauseNote) async throws -> HTTPServerAnswer
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
            return try await change(kind, name, note(body, from: request.remote))
        }
    }

    /// Who asks, and why.
    private func note(_ body: AdminBody, from address: String) -> PauseNote {
        func words(_ key: String) -> String {
            String((body.text(key) ?? "").filter { !$0.isNewline }.prefix(Self.wordsMax))
        }
        let by = words("by")
        // The default names the caller as the audit does; the embedding program has no address.
        let caller = address.isEmpty ? "program" : "admin"
        return PauseNote(
            by: by.isEmpty ? caller : by, address: address, reason: words("reason"),
            sinceUnixMs: context.clock())
    }

    private func pause(
        _ kind: PauseEntry.Kind, _ name: String, _ note: PauseNote
    ) async throws -> HTTPServerAnswer {
        if let fault = KnownNames(context.current.generation).fault(kind, name) {
            return Problem(404, fault).answer
        }
        let entry = PauseEntry(kind: kind, name: name, note: note)
        let change = try await context.pauses.pause(entry)
        return changed(change != .none, [.init("was_paused", .bool(change != .paused))])
    }

    /// Resumes something, which a reload may have removed.
    private func resume(
        _ kind: PauseEntry.Kind, _ name: String, _ note: PauseNote
    ) async throws -> HTTPServerAnswer {
        if try await context.pauses.resume(kind, name, by: note) { return changed(true) }
        if let fault = KnownNames(context.current.generation).fault(kind, name) {
            return Problem(404, fault).answer
        }
        return changed(false)
    }

    private func changed(
        _ isChange: Bool, _ more: [JSONValue.Member] = []
    ) -> HTTPServerAnswer {
        if isChange { lanes.applyPauses(context.pauses) }
        return .json(
            .object(
                [.init("changed", .bool(isChange))] + more
                    + [.init("paused", .array(context.pauses.all.map(\.json)))]))
    }
}
