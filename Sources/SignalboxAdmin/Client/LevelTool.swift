internal import SignalboxConfig
internal import SignalboxCore
package import SignalboxGateway

/// `signalbox log-level`, which asks a running gateway.
package struct LevelTool: Sendable {
    /// `trace, debug, info, notice, warning or error`.
    package static let levels =
        LogLevels.all.dropLast().joined(separator: ", ")
        + " or \(LogLevels.all.last ?? "")"

    /// For scripts.
    package let json: String
    /// The level.
    package let text: String

    /// Sets the log level, or only reports it.
    package static func run(_ level: String?, _ options: GatewayOptions) async throws -> LevelTool {
        let answer =
            if let level {
                try await AdminClient.ask(
                    options, "POST", "/log-level",
                    JSONValue.object([.init("level", .string(level))]).text)
            } else {
                try await AdminClient.ask(options, "GET", "/log-level")
            }
        return LevelTool(json: answer.text, text: answer["level"]?.string ?? "")
    }
}
