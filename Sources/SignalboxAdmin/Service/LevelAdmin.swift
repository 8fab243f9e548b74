internal import Logging
internal import SignalboxConfig
internal import SignalboxCore
internal import SignalboxGateway
internal import SignalboxHTTP
internal import SignalboxObservability

/// `GET /log-level` and `POST /log-level` on the admin listener.
struct LevelAdmin: Sendable {
    let runtime: GatewayRuntime

    var paths: [AdminPath] {
        [
            AdminPath(.logLevel) { _, _ in answer() },
            AdminPath(.setLogLevel) { input, _ in try set(input.text("level") ?? "") },
        ]
    }

    private func answer() -> HTTPServerAnswer {
        .json(["level": .string("\(runtime.logger.logLevel)")])
    }

    private func set(_ given: String) throws -> HTTPServerAnswer {
        guard LogLevels.all.contains(given), let level = Logger.Level(rawValue: given)
        else {
            let hint = Suggestion.hint(for: given, among: LogLevels.all)
            throw Problem(
                400, "level must be one of \(LogLevels.all.joined(separator: ", "))\(hint)")
        }
        guard let log = runtime.logLevel else {
            throw Problem(409, "the program that embeds the gateway has a logger of its own")
        }
        let before = log.level
        log.level = level
        runtime.records.notice(
            "log level changed", metadata: ["before": "\(before)", "after": "\(level)"])
        return answer()
    }
}
