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
        /// Whether every device's provider took it.
        package let isDelivered: Bool
    }

    /// The provider may be slow; each device has its own time.
    private static let timeoutMs: UInt32 = 600_000

    /// By the running gateway.
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

    /// Shows the request, and sends nothing; needs no gateway and no secrets.
    package static func show(_ push: OnePush, _ options: GatewayOptions) async throws -> Shown {
        let shown = try await Trial(options).render(push)
        return Shown(
            lines: shown.text.split(separator: "\n").map { String($0) }, json: shown.json,
            isDelivered: shown.sendsAnything)
    }
}
