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

    /// Sends it through the running gateway.
    package static func send(_ push: OnePush, _ options: GatewayOptions) async throws -> Shown {
        let json = try await options.ask(.send, AdminInput(json: push.json))
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
