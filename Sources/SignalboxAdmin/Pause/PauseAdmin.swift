internal import SignalboxCore
internal import SignalboxDispatch
internal import SignalboxGateway
internal import SignalboxHTTP

/// `GET /paused`, `POST /pause` and `POST /resume` on the admin listener.
struct PauseAdmin: Sendable {
    private static let wordsMax = 200
    let pauses: PauseOrders
    let lanes: LaneTable
    /// The names that operators may give.
    let names: @Sendable () -> KnownNames
    let clock: @Sendable () -> UInt64

    var paths: [AdminPath] {
        [
            AdminPath(.paused) { _, _ in
                .json(["paused": .array(pauses.all.map(\.json))])
            },
            AdminPath(.pause) { input, request in
                let (kind, name) = try named(input)
                return try await pause(kind, name, note(input, from: request.remote))
            },
            AdminPath(.resume) { input, request in
                let (kind, name) = try named(input)
                return try await resume(kind, name, note(input, from: request.remote))
            },
        ]
    }

    private func named(_ input: AdminInput) throws -> (PauseEntry.Kind, String) {
        let named = PauseEntry.Kind.allCases.compactMap { kind in
            input.text(kind.rawValue).map { (kind, $0) }
        }
        guard named.count == 1, let only = named.first else {
            throw Problem(400, "give either sender or route, with its name")
        }
        return only
    }

    /// Who asks, and why.
    private func note(_ input: AdminInput, from address: String) -> PauseNote {
        func words(_ key: String) -> String {
            String((input.text(key) ?? "").filter { !$0.isNewline }.prefix(Self.wordsMax))
        }
        let by = words("by")
        // The default names the caller as the audit does; the embedding program has no address.
        let caller = address.isEmpty ? "program" : "admin"
        return PauseNote(
            by: by.isEmpty ? caller : by, address: address, reason: words("reason"),
            sinceUnixMs: clock())
    }

    private func pause(
        _ kind: PauseEntry.Kind, _ name: String, _ note: PauseNote
    ) async throws -> HTTPServerAnswer {
        if let fault = names().fault(kind, name) {
            throw Problem(404, fault)
        }
        let entry = PauseEntry(kind: kind, name: name, note: note)
        let change = try await pauses.pause(entry)
        return changed(change != .none, [.init("was_paused", .bool(change != .paused))])
    }

    /// Resumes something, which a reload may have removed.
    private func resume(
        _ kind: PauseEntry.Kind, _ name: String, _ note: PauseNote
    ) async throws -> HTTPServerAnswer {
        if try await pauses.resume(kind, name, by: note) { return changed(true) }
        if let fault = names().fault(kind, name) {
            throw Problem(404, fault)
        }
        return changed(false)
    }

    private func changed(
        _ isChange: Bool, _ more: [JSONValue.Member] = []
    ) -> HTTPServerAnswer {
        if isChange { lanes.applyPauses(pauses) }
        return .json(
            .object(
                [.init("changed", .bool(isChange))] + more
                    + [.init("paused", .array(pauses.all.map(\.json)))]))
    }
}
