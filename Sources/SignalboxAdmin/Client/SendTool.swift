internal import SignalboxCore
package import SignalboxGateway
package import SignalboxOffline

/// Sends one push for a command.
package enum SendTool {
    /// What a command shows.
    package struct Shown: Sendable {
        /// For people.
        package let lines: [String]
        /// JSON in one line.
        package let json: String
        /// Whether all providers accepted it.
        package let isDelivered: Bool
    }

    /// Providers may be slow, and each device has its own time-out.
    private static let timeoutMs: UInt32 = 600_000

    /// Sends it through the running gateway.
    package static func send(_ push: OnePush, _ options: GatewayOptions) async throws -> Shown {
        let json = try await AdminClient.ask(
            options, "POST", "/send", push.json.text, timeoutMs: timeoutMs)
        var lines: [String] = []
        if case .array(let results) = json["results"] {
            lines = results.compactMap { $0["text"]?.string }
        }
        return Shown(
            lines: lines, json: json.text, isDelivered: json["delivered"] == .bool(true))
    }

    /// Shows the request without sending it; needs no gateway and no secrets.
    package static func show(_ push: OnePush, _ options: GatewayOptions) async throws -> Shown {
        let shown = try await Trial(options).render(push)
        return Shown(
            lines: shown.text.split(separator: "\n").map { String($0) }, json: shown.json,
            isDelivered: shown.sendsAnything)
    }
}
