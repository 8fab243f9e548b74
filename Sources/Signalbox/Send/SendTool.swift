internal import SignalboxCore

/// Sends one push for a command.
public enum SendTool {
    /// What a command shows.
    public struct Shown: Sendable {
        /// For people.
        public let lines: [String]
        /// JSON in one line.
        public let json: String
        /// Whether every device's provider took it.
        public let isDelivered: Bool
    }

    /// The provider may be slow; each device has its own time.
    private static let timeoutMs: UInt32 = 600_000

    /// By the running gateway.
    public static func send(_ push: OnePush, _ options: GatewayOptions) async throws -> Shown {
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
    public static func show(_ push: OnePush, _ options: GatewayOptions) async throws -> Shown {
        let shown = try await Trial(options).render(push)
        return Shown(
            lines: shown.text.split(separator: "\n").map { String($0) }, json: shown.json,
            isDelivered: shown.sendsAnything)
    }
}
