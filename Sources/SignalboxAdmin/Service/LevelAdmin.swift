internal import Logging
internal import SignalboxConfig
internal import SignalboxCore
internal import SignalboxGateway
internal import SignalboxHTTP
internal import SignalboxJSON
internal import SignalboxObservability

/// `GET /log-level` and `POST /log-level` on the admin listener.
struct LevelAdmin: Sendable {
    let context: DispatchContext

    var paths: [AdminPath] {
        [.show("/log-level") { _ in answer() }, .change("/log-level") { set($0) }]
    }

    private func answer() -> HTTPServerAnswer {
        .json(.object([.init("level", .string("\(context.logger.logLevel)"))]))
    }

    private func set(_ request: HTTPServerRequest) -> HTTPServerAnswer {
        let given = (try? JSONValue.parse(request.body))?["level"]?.string ?? ""
        guard LogLevels.all.contains(given), let level = Logger.Level(rawValue: given)
        else {
            let hint = Suggestion.hint(for: given, among: LogLevels.all)
            return Problem(
                400,
                "level must be one of \(LogLevels.all.joined(separator: ", "))\(hint)"
            ).answer
        }
        guard let log = context.runtime.logLevel else {
            return Problem(409, "the program that embeds the gateway has a logger of its own")
                .answer
        }
        let before = log.level
        log.level = level
        context.runtime.records.notice(
            "log level changed", metadata: ["before": "\(before)", "after": "\(level)"])
        return answer()
    }
}
