internal import SignalboxConfig
internal import SignalboxCore
package import SignalboxGateway

/// `signalbox forget` and `signalbox export`, which ask a running gateway.
package struct PeopleTool: Sendable {
    /// Searching millions of waiting deliveries takes a while.
    private static let timeoutMs: UInt32 = 300_000

    /// For scripts.
    package let json: String
    /// For people.
    package let text: String

    /// Removes what is stored about a user; in all apps if `app` is nil.
    package static func forget(
        _ user: String, app: String?, _ options: GatewayOptions
    ) async throws -> PeopleTool {
        let app: [JSONValue.Member] = app.map { [.init("app", .string($0))] } ?? []
        let answer = try await AdminClient.ask(
            options, "POST", "/forget", JSONValue.object([.init("user", .string(user))] + app).text,
            timeoutMs: timeoutMs)
        let names = [
            ("devices", "devices"), ("badges", "badge counters"),
            ("waiting", "waiting deliveries, cancelled"), ("dead_letters", "dead letters"),
            ("events", "events of history"),
        ]
        var lines = names.map { key, words in
            "\(answer["removed"]?[key]?.integer ?? 0) \(words)"
        }
        let late = answer["in_flight"]?.integer ?? 0
        if late > 0 {
            lines.append("\(late) were on their way, and those that had left may arrive")
        }
        return PeopleTool(json: answer.text, text: lines.joined(separator: "\n"))
    }

    /// Everything stored about a user, as JSON.
    package static func export(
        _ user: String, app: String?, _ options: GatewayOptions
    ) async throws -> String {
        let query = [("user", user), ("app", app ?? "")].filter { !$0.1.isEmpty }
            .map { "\($0.0)=\(PercentEncoding.encode($0.1))" }.joined(separator: "&")
        return try await AdminClient.ask(
            options, "GET", "/export?\(query)", timeoutMs: timeoutMs
        ).text
    }
}
