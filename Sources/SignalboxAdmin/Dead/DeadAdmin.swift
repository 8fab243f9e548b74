internal import SignalboxCore
internal import SignalboxGateway
internal import SignalboxHTTP
internal import SignalboxJSON

/// Dead letters on the admin listener.
struct DeadAdmin: Sendable {
    private static let partMax = 1_000
    let store: any DeadLetterStore
    /// The names that operators may give.
    let names: @Sendable () -> KnownNames

    var paths: [AdminPath] {
        [
            AdminPath(.deadList) { input, _ in try await list(input) },
            AdminPath(.deadLetter) { _, request in
                try await show(request.path.dropFirst("/dead/".count))
            },
            AdminPath(.replay) { input, _ in
                try await change(input, store.replay(_:fromID:limit:))
            },
            AdminPath(.purge) { input, _ in try await change(input, store.purge(_:fromID:limit:)) },
        ]
    }

    private func list(_ input: AdminInput) async throws -> HTTPServerAnswer {
        try await checkNames(input)
        let filter = DeadFilter(input)
        let limit = Self.limit(input, otherwise: 100)
        var letters = try await store.deadLetters(
            filter, fromID: input.number("from") ?? 0, limit: limit + 1)
        let next = letters.count > limit ? letters.removeLast().id : nil
        return .json([
            "count": .integer(Int64(try await store.deadCount(filter))), "next": Self.json(next),
            "dead": .array(letters.map(\.json)),
        ])
    }

    /// Throws if a name does not exist. Not checked for later batches, which may find no letters left.
    private func checkNames(_ input: AdminInput) async throws {
        guard input.number("from") ?? 0 == 0 else { return }
        if let fault = try await names().fault(of: DeadFilter(input), in: store) {
            throw Problem(404, fault)
        }
    }

    private func show(_ text: Substring) async throws -> HTTPServerAnswer {
        guard let id = UInt64(text) else { throw Problem(404, "an id is a number") }
        var filter = DeadFilter()
        filter.ids = [id]
        guard let letter = try await store.deadLetters(filter, fromID: 0, limit: 1).first else {
            throw Problem(404, "there is no dead letter \(id)")
        }
        return .json(letter.json)
    }

    private func change(
        _ input: AdminInput, _ change: (DeadFilter, UInt64, Int) async throws -> DeadPart
    ) async throws -> HTTPServerAnswer {
        guard input.selectsDeadLetters else {
            throw Problem(
                400, "give ids, sender, route, reason, user, app, before or since, or \"all\": true"
            )
        }
        try await checkNames(input)
        let part = try await change(
            DeadFilter(input), input.number("from") ?? 0,
            Self.limit(input, otherwise: Self.partMax))
        return .json(["count": .integer(Int64(part.count)), "next": Self.json(part.nextID)])
    }

    private static func limit(_ input: AdminInput, otherwise limit: Int) -> Int {
        Int(min(UInt64(partMax), input.number("limit") ?? UInt64(limit)))
    }

    private static func json(_ id: UInt64?) -> JSONValue {
        id.map { .integer(Int64(clamping: $0)) } ?? .null
    }
}
