package import SignalboxConfig
package import SignalboxCore

/// Why a trial cannot run.
package struct TrialFault: Error, Sendable, CustomStringConvertible {
    /// Names the thing and the fix.
    package let message: String

    package init(message: String) { self.message = message }

    /// The message.
    package var description: String { message }
}

/// The input of a trial.
package struct TrialRequest: Sendable {
    private static let keys = [
        "webhook", "source", "event", "devices", "answers", "now_unix_ms", "check_signatures",
    ]
    private static let webhookKeys = ["instance", "method", "path", "query", "headers", "body"]

    /// The webhook or event.
    package var given: RouteTest.Given
    /// Devices of the registry, as JSON; nil for those of the running gateway, and invented ones for users without any.
    package var devices: [JSONValue]?
    /// The answers to plugins' own calls, as JSON.
    package var answers: [JSONValue] = []
    /// The time; nil for the current time.
    package var nowUnixMs: UInt64?
    /// Whether to check signatures of webhooks; otherwise any is valid.
    package var checksSignatures = false

    /// A request with the defaults.
    package init(_ given: RouteTest.Given) { self.given = given }

    /// Parses the body of `POST /explain`: `webhook`, or `event` and `source`; docs/trying.md lists the members.
    package init(json: JSONValue) throws(TrialFault) {
        try Self.check(json, "the request", known: Self.keys)
        if let webhook = json["webhook"] {
            given = .webhook(try Self.webhook(webhook))
        } else if let event = json["event"] {
            given = .event(source: json["source"]?.string ?? "", event)
        } else {
            throw TrialFault(message: "give webhook or event")
        }
        devices = try Self.list(json["devices"], "devices")
        answers = try Self.list(json["answers"], "answers") ?? []
        nowUnixMs = json["now_unix_ms"]?.integer.map { UInt64(clamping: $0) }
        checksSignatures = json["check_signatures"] == .bool(true)
    }

    /// The body of `POST /explain`.
    package var json: JSONValue {
        var out: [JSONValue.Member] = []
        switch given {
        case .event(let source, let event):
            out = [.init("source", .string(source)), .init("event", event)]
        case .webhook(let webhook):
            var members: [JSONValue.Member] = [
                .init("instance", .string(webhook.plugin)), .init("query", .string(webhook.query)),
                .init(
                    "headers", .object(webhook.headers.map { .init($0.key, .string($0.value)) })),
            ]
            for (key, text) in [("method", webhook.method), ("path", webhook.path)] {
                if let text { members.append(.init(key, .string(text))) }
            }
            if let body = webhook.body { members.append(.init("body", body)) }
            out = [.init("webhook", .object(members))]
        }
        if let devices { out.append(.init("devices", .array(devices))) }
        out.append(.init("answers", .array(answers)))
        if let nowUnixMs { out.append(.init("now_unix_ms", .integer(Int64(clamping: nowUnixMs)))) }
        out.append(.init("check_signatures", .bool(checksSignatures)))
        return .object(out)
    }

    private static func webhook(_ json: JSONValue) throws(TrialFault) -> RouteTest.Webhook {
        try check(json, "webhook", known: webhookKeys)
        var out = RouteTest.Webhook(plugin: json["instance"]?.string ?? "")
        out.method = json["method"]?.string
        out.path = json["path"]?.string
        out.query = json["query"]?.string ?? ""
        if case .object(let members) = json["headers"] {
            out.headers = members.map {
                Attribute($0.key.lowercased(), $0.value.scalarText ?? "")
            }
        }
        out.body = json["body"]
        return out
    }

    private static func list(
        _ json: JSONValue?, _ name: String
    ) throws(TrialFault) -> [JSONValue]? {
        guard let json, json != .null else { return nil }
        guard case .array(let items) = json else {
            throw TrialFault(message: "\(name) must be an array")
        }
        return items
    }

    private static func check(
        _ json: JSONValue, _ owner: String, known: [String]
    ) throws(TrialFault) {
        guard case .object(let members) = json else {
            throw TrialFault(message: "\(owner) must be an object")
        }
        for member in members where !known.contains(member.key) {
            throw TrialFault(
                message: "\(owner) has the unknown key \"\(member.key)\""
                    + Suggestion.hint(for: member.key, among: known) + "; known: "
                    + known.joined(separator: ", "))
        }
    }
}
