internal import SignalboxCore
internal import SignalboxGateway
internal import SignalboxPluginHost

/// Masks tokens and secrets in requests that are shown.
struct TrialMask {
    private static let secretHeaders: Set = [
        "authorization", "proxy-authorization", "cookie", "x-api-key", "api-key",
    ]
    private let token: String
    private let secrets: [String]

    init(token: String, plugins: [CheckedPlugin]) {
        self.token = token
        // Masking a short secret would hide innocent text.
        secrets = plugins.flatMap { $0.config.secrets.values }
            .compactMap { String(validating: $0.bytes, as: UTF8.self) }
            .filter { $0.utf8.count >= 8 }
    }

    func text(_ text: String) -> String {
        var out = text
        if !token.isEmpty { out = out.replacing(token, with: "{token}") }
        for secret in secrets where out.contains(secret) {
            out = out.replacing(secret, with: "{secret}")
        }
        return out
    }

    func header(_ header: Attribute) -> Attribute {
        guard Self.secretHeaders.contains(header.key) else {
            return Attribute(header.key, text(header.value))
        }
        // The scheme shows how the sender authenticates.
        let scheme = header.value.split(separator: " ", maxSplits: 1)
        return Attribute(header.key, scheme.count == 2 ? "\(scheme[0]) {secret}" : "{secret}")
    }

    func json(_ value: JSONValue) -> JSONValue {
        switch value {
        case .string(let text): .string(self.text(text))
        case .array(let items): .array(items.map(json))
        case .object(let members):
            .object(members.map { JSONValue.Member($0.key, json($0.value)) })
        default: value
        }
    }
}
