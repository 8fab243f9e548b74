internal import SignalboxConfig
internal import SignalboxCore
package import SignalboxGateway

/// `signalbox pause` and `signalbox resume`, which ask a running gateway.
package struct PauseTool: Sendable {
    /// A sender or a route.
    package enum Target: Sendable {
        /// A plugin instance that sends.
        case sender(String)
        /// A route.
        case route(String)

        fileprivate var member: JSONValue.Member {
            switch self {
            case .sender(let name): .init("sender", .string(name))
            case .route(let name): .init("route", .string(name))
            }
        }

        fileprivate var words: String {
            switch self {
            case .sender(let name): "sender \(name)"
            case .route(let name): "route \(name)"
            }
        }
    }

    /// For scripts.
    package let json: String
    /// For people.
    package let text: String

    /// Pauses a sender or a route; others see the name of the system user and the reason.
    package static func pause(
        _ target: Target, reason: String, _ options: GatewayOptions
    ) async throws -> PauseTool {
        let body = JSONValue.object([
            target.member, .init("by", .string(options.operatorName)),
            .init("reason", .string(reason)),
        ])
        let answer = try await AdminClient.ask(options, "POST", "/pause", body.text)
        let isChange = answer["changed"] == .bool(true)
        let words =
            answer["was_paused"] == .bool(true)
            ? "was paused already\(isChange ? "; the reason is new" : "")"
            : "is paused, its deliveries wait"
        return PauseTool(json: answer.text, text: "\(target.words) \(words)")
    }

    /// Resumes what was paused.
    package static func resume(
        _ target: Target, _ options: GatewayOptions
    ) async throws -> PauseTool {
        let answer = try await AdminClient.ask(
            options, "POST", "/resume",
            JSONValue.object([target.member, .init("by", .string(options.operatorName))]).text)
        let isChange = answer["changed"] == .bool(true)
        return PauseTool(
            json: answer.text,
            text: "\(target.words) \(isChange ? "is resumed" : "was not paused")")
    }

    /// What is paused, by whom, since when and why.
    package static func list(_ options: GatewayOptions) async throws -> PauseTool {
        let answer = try await AdminClient.ask(options, "GET", "/paused")
        let lines = answer.pauses.map(\.text)
        return PauseTool(
            json: answer.text,
            text: lines.isEmpty ? "nothing is paused" : lines.joined(separator: "\n"))
    }
}

extension JSONValue {
    /// The pauses in its member `paused`.
    var pauses: [PauseEntry] { items("paused").compactMap { PauseEntry($0) } }
}
