internal import SignalboxCore
internal import SignalboxGateway
internal import SignalboxHTTP
internal import SignalboxJSON

/// `POST /reload` on the admin listener; `?check` only says what it would change.
struct ReloadAdmin: Sendable {
    let reloader: Reloader

    var paths: [AdminPath] { [AdminPath(.reload) { _, request in try await answer(request) }] }

    private func answer(_ request: HTTPServerRequest) async throws -> HTTPServerAnswer {
        // A body such as `{"check": true}` is refused: its sender does not want to reload.
        guard request.body.isEmpty || (try? JSONValue.parse(request.body)) == .object([]) else {
            throw Problem(400, "the body must be {}; /reload?check changes nothing")
        }
        do {
            return .json(try await reloader.reload(isCheck: request.query == "check").json)
        } catch let error as ConfigurationError {
            throw Problem(
                422, "the configuration has faults, the current one stays in effect",
                faults: error.diagnostics.map(\.description))
        }
    }
}
