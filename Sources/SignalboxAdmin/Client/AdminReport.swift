package import SignalboxCore
package import SignalboxGateway

/// What a command prints of a gateway's answer.
package struct AdminReport: Sendable {
    /// For scripts.
    package let json: String
    /// For people.
    package let text: String
    /// Whether nothing was found.
    package var isEmpty = false

    package init(_ json: JSONValue, _ text: String) {
        self.json = json.text
        self.text = text
    }

    /// The lines, or `otherwise` without lines.
    private init(_ json: JSONValue, lines: [String], otherwise text: String) {
        self.init(json, lines.isEmpty ? text : lines.joined(separator: "\n"))
    }
}

extension AdminReport {
    /// Pauses a sender or a route; others see the name of the system user and the reason.
    package static func pause(
        sender: String?, route: String?, reason: String, _ options: GatewayOptions
    ) async throws -> AdminReport {
        let answer = try await options.ask(
            .pause,
            ["sender": sender, "route": route, "by": options.operatorName, "reason": reason])
        let isChange = answer["changed"] == .bool(true)
        let words =
            answer["was_paused"] == .bool(true)
            ? "was paused already\(isChange ? "; the reason is new" : "")"
            : "is paused, its deliveries wait"
        return AdminReport(answer, "\(name(sender, route)) \(words)")
    }

    /// Resumes what was paused.
    package static func resume(
        sender: String?, route: String?, _ options: GatewayOptions
    ) async throws -> AdminReport {
        let answer = try await options.ask(
            .resume, ["sender": sender, "route": route, "by": options.operatorName])
        let isChange = answer["changed"] == .bool(true)
        return AdminReport(
            answer, "\(name(sender, route)) \(isChange ? "is resumed" : "was not paused")")
    }

    private static func name(_ sender: String?, _ route: String?) -> String {
        sender.map { "sender \($0)" } ?? "route \(route ?? "")"
    }

    /// What is paused, by whom, since when and why.
    package static func paused(_ options: GatewayOptions) async throws -> AdminReport {
        let answer = try await options.ask(.paused)
        return AdminReport(
            answer, lines: answer.pauses.map(\.text), otherwise: "nothing is paused")
    }

    /// What waits, by sender and app, and the cancel orders.
    package static func waiting(_ options: GatewayOptions) async throws -> AdminReport {
        let fleet = try await options.ask(.fleet)
        let orders = try await options.ask(.cancelled).items("orders")
        let lanes = fleet.items("lanes")
        var lines = lanes.map { lane in
            "\(lane["sender"]?.string ?? "") \(lane["app"]?.string ?? "")  "
                + "waiting \(lane["waiting"]?.integer ?? 0)  held \(lane["leased"]?.integer ?? 0)  "
                + "lag_ms \(lane["lag_ms"]?.integer ?? 0)"
        }
        lines += fleet.pauses.map(\.text)
        lines += orders.map { "cancelled: \($0.text)" }
        return AdminReport(
            ["lanes": .array(lanes), "cancelled": .array(orders)], lines: lines,
            otherwise: "nothing waits")
    }

    /// Cancels what waits and matches every given parameter.
    package static func cancel(
        _ chosen: AdminInput, _ options: GatewayOptions
    ) async throws -> AdminReport {
        let answer = try await options.ask(.cancel, chosen.adding(["by": options.operatorName]))
        return AdminReport(
            answer, lines: ["cancelled\(late(answer).map { "; \($0)" } ?? "")"], otherwise: "")
    }

    /// What cannot be called back.
    private static func late(_ answer: JSONValue) -> String? {
        let count = answer["in_flight"]?.integer ?? 0
        return count == 0
            ? nil : "\(count) were on their way, and those that had left may arrive"
    }

    /// Removes what is stored about a user; in all apps if `app` is nil.
    package static func forget(
        _ user: String, app: String?, _ options: GatewayOptions
    ) async throws -> AdminReport {
        let answer = try await options.ask(.forget, ["user": user, "app": app])
        let names = [
            ("devices", "devices"), ("badges", "badge counters"),
            ("waiting", "waiting deliveries, cancelled"), ("dead_letters", "dead letters"),
            ("events", "events of history"),
        ]
        let lines = names.map { key, words in
            "\(answer["removed"]?[key]?.integer ?? 0) \(words)"
        }
        return AdminReport(answer, lines: lines + [late(answer)].compactMap { $0 }, otherwise: "")
    }

    /// Everything stored about a user, as JSON.
    package static func export(
        _ user: String, app: String?, _ options: GatewayOptions
    ) async throws -> AdminReport {
        let answer = try await options.ask(.export, ["user": user, "app": app])
        return AdminReport(answer, answer.text)
    }

    /// Sets the log level, or only reports it.
    package static func logLevel(
        _ level: String?, _ options: GatewayOptions
    ) async throws -> AdminReport {
        let answer =
            if let level {
                try await options.ask(.setLogLevel, ["level": level])
            } else {
                try await options.ask(.logLevel)
            }
        return AdminReport(answer, answer["level"]?.string ?? "")
    }
}

extension JSONValue {
    /// The pauses in its member `paused`.
    var pauses: [PauseEntry] { items("paused").compactMap { PauseEntry($0) } }
}
