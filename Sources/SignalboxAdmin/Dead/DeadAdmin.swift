internal import SignalboxCore
internal import SignalboxGateway
internal import SignalboxHTTP
internal import SignalboxJSON

/// Dead letters on the admin listener: `GET /dead`, `GET /dead/ID`, `POST /dead/replay`,
/// `POST /dead/purge`.
struct DeadAdmin: Sendable {
    private static let partMax = 1_000
    let context: DispatchContext
    private var store: any DeadLetterStore { context.store }

    var paths: [AdminPath] {
        [
            .show("/dead") { request in await answer { try await list(request.query) } },
            .show("/dead/*") { request in
                await answer { try await show(request.path.dropFirst("/dead/".count)) }
            },
            .change("/dead/replay") { request in
                await AdminBody.answer { try await change(request) }
            },
            .change("/dead/purge") { request in
                await AdminBody.answer { try await change(request) }
            },
        ]
    }

    private func answer(
        _ body: () async throws -> HTTPServerAnswer
    ) async -> HTTPServerAnswer {
        do { return try await body() } catch { return Problem(503, "\(error)").answer }
    }

    private func list(_ query: String) async throws -> HTTPServerAnswer {
        var members: [JSONValue.Member] = []
        for pair in query.split(separator: "&") {
            let parts = pair.split(separator: "=", maxSplits: 1)
            guard parts.count == 2, let value = PercentEncoding.decode(parts[1]) else { continue }
            let isName = ["sender", "route", "reason", "user", "app"].contains(parts[0])
            let number = isName ? nil : Int64(value).map { JSONValue.integer($0) }
            members.append(.init(String(parts[0]), number ?? .string(value)))
        }
        let json = JSONValue.object(members)
        let selection = DeadSelection(json: json)
        if let refusal = try await refusal(selection) { return refusal }
        let limit = min(Self.partMax, max(1, Int(json["limit"]?.integer ?? 100)))
        var letters = try await store.deadLetters(
            selection.filter, fromID: selection.fromID, limit: limit + 1)
        var next: JSONValue = .null
        if letters.count > limit { next = .integer(Int64(clamping: letters.removeLast().id)) }
        let count = try await store.deadCount(selection.filter)
        return HTTPServerAnswer.json(
            .object([
                .init("count", .integer(Int64(count))), .init("next", next),
                .init("dead", .array(letters.map(\.json))),
            ]))
    }

    /// The answer if a name does not exist. Not checked for later batches, which may find no letters left.
    private func refusal(_ selection: DeadSelection) async throws -> HTTPServerAnswer? {
        guard selection.fromID == 0 else { return nil }
        let names = KnownNames(context.current.generation)
        return try await names.fault(of: selection, in: store).map { Problem(404, $0).answer }
    }

    private func show(_ text: Substring) async throws -> HTTPServerAnswer {
        guard let id = UInt64(text) else { return Problem(404, "an id is a number").answer }
        var filter = DeadFilter()
        filter.ids = [id]
        guard let letter = try await store.deadLetters(filter, fromID: 0, limit: 1).first else {
            return Problem(404, "there is no dead letter \(id)").answer
        }
        return HTTPServerAnswer.json(letter.json)
    }

    private func change(_ request: HTTPServerRequest) async throws -> HTTPServerAnswer {
        let body = try AdminBody(
            request.body,
            [
                "ids": .ids, "sender": .name, "route": .name, "reason": .name, "user": .name,
                "app": .text, "before": .number, "since": .number, "all": .flag, "from": .number,
                "limit": .number, "by": .text,
            ])
        let selection = DeadSelection(body)
        guard selection.isMeant else {
            return Problem(
                400, "give ids, sender, route, reason, user, app, before or since, or \"all\": true"
            )
            .answer
        }
        if let refusal = try await refusal(selection) { return refusal }
        let limit = Int(min(UInt64(Self.partMax), max(1, body.number("limit") ?? .max)))
        let part: DeadPart
        if request.path == "/dead/replay" {
            part = try await store.replay(selection.filter, fromID: selection.fromID, limit: limit)
        } else {
            part = try await store.purge(selection.filter, fromID: selection.fromID, limit: limit)
        }
        let next = part.nextID.map { JSONValue.integer(Int64(clamping: $0)) }
        return HTTPServerAnswer.json(
            .object([
                .init("count", .integer(Int64(part.count))), .init("next", next ?? .null),
            ]))
    }
}
