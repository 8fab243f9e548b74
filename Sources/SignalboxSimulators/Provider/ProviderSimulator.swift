internal import SignalboxCore
internal import SignalboxHTTP
internal import SignalboxJSON

/// A provider that takes everything: what a plugin under development sends to.
///
/// The token of an arrival is the request's path.
final class ProviderHandler: HTTP2ServerHandler {
    private let answerer: Answerer

    init(state: SimulatorState) { answerer = Answerer(state: state, provider: "provider") }

    func handle(_ request: HTTP2ServerRequest, on stream: HTTP2ServerStream) {
        let body =
            (try? JSONValue.parse(request.body))
            ?? .string(String(decoding: request.body, as: UTF8.self))
        answerer.answer(
            request, token: request.path, body: body, on: stream,
            serve: { Self.answer(200, "") }, failure: Self.answer)
    }

    private static func answer(_ status: Int, _ reason: String) -> ProviderAnswer {
        let members = reason.isEmpty ? [] : [JSONValue.Member("error", .string(reason))]
        return ProviderAnswer(
            status: status, reason: reason,
            headers: [Attribute("content-type", "application/json")],
            body: Array(JSONValue.object(members).text.utf8))
    }
}
