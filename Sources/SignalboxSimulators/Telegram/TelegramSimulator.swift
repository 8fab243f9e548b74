internal import SignalboxCore
internal import SignalboxHTTP
internal import SignalboxJSON
internal import Synchronization

/// The options of the Telegram simulator.
public struct TelegramSimulatorOptions: Sendable {
    /// The bot's token.
    public var botToken = "123456789:sim-telegram-bot-token"

    /// The defaults.
    public init() {}
}

/// Answers like `sendMessage` of Telegram's Bot API.
final class TelegramHandler: HTTP2ServerHandler {
    private let options: TelegramSimulatorOptions
    private let answerer: Answerer
    private let count = Mutex<Int64>(0)

    init(options: TelegramSimulatorOptions, state: SimulatorState) {
        self.options = options
        answerer = Answerer(state: state, provider: "telegram")
    }

    func handle(_ request: HTTP2ServerRequest, on stream: HTTP2ServerStream) {
        let body = (try? JSONValue.parse(request.body)) ?? .null
        answerer.answer(
            request, token: TelegramRules.chat(of: body) ?? "", body: body, on: stream,
            serve: { serve(request, body) },
            failure: { status, words in
                // "migrate -100123": the group has become a supergroup with this id.
                let parts = words.split(separator: " ")
                guard parts.first == "migrate", let id = parts.last.flatMap({ Int64($0) }) else {
                    return TelegramRefusal(status: status, words: words).answer
                }
                return TelegramRefusal(
                    status: status,
                    words: "Bad Request: group chat was upgraded to a supergroup chat",
                    parameters: ["migrate_to_chat_id": .integer(id)]
                ).answer
            })
    }

    private func serve(_ request: HTTP2ServerRequest, _ body: JSONValue) -> ProviderAnswer {
        let parts = request.path.split(separator: "/", omittingEmptySubsequences: false)
        guard parts.count == 3, parts[1].hasPrefix("bot"), parts[2] == "sendMessage" else {
            return TelegramRefusal(status: 404, words: "Not Found").answer
        }
        guard parts[1].dropFirst(3) == options.botToken else {
            return TelegramRefusal(status: 401, words: "Unauthorized").answer
        }
        guard request.method == "POST", request.header("content-type") == "application/json" else {
            return TelegramRefusal(status: 400, words: "Bad Request: message text is empty").answer
        }
        if let refusal = TelegramRules.refusal(of: body) { return refusal.answer }
        let number = count.withLock { count in
            count += 1
            return count
        }
        let result: JSONValue = ["message_id": .integer(number)]
        return ProviderAnswer(
            status: 200, headers: [Attribute("content-type", "application/json")],
            body: Array(
                JSONValue.object([.init("ok", .bool(true)), .init("result", result)]).text.utf8))
    }
}
