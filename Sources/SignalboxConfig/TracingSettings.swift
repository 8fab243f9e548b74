public import SignalboxCore

/// `gateway.tracing`: where spans are sent.
public struct TracingSettings: Sendable, Hashable {
    /// The URL of an OTLP/HTTP receiver of traces.
    public var endpoint: String
    /// Header fields of each request to it.
    ///
    /// Never logged.
    public var headers: [Attribute] = []
    /// The percentage of webhooks without a trace that start one.
    public var samplePercent = 100
    /// PEM file of trusted roots; nil for the system's.
    public var caFile: String?

    /// Reads `gateway.tracing`; nil for no spans.
    static func read(_ value: ConfigValue, _ diagnostics: Diagnostics) -> TracingSettings? {
        guard let map = MapReader(value, owner: "gateway.tracing", .tracing, diagnostics),
            let (url, given) = map.text("endpoint", required: true)
        else { return nil }
        if !WebURL.isWeb(url) {
            map.report(
                "bad-value", at: given,
                "endpoint must be an http or https URL, such as http://127.0.0.1:4318/v1/traces")
        }
        var out = TracingSettings(endpoint: url)
        if let value = map["headers"] {
            guard case .map(let pairs) = value.kind else {
                map.report("wrong-type", at: value, "headers must be a map of names to texts")
                return nil
            }
            for pair in pairs {
                guard let text = pair.value.string, isField(pair.key, text) else {
                    map.report(
                        "bad-value", at: pair.value,
                        "a header has a name of letters, digits and hyphens, and one line of text")
                    continue
                }
                out.headers.append(Attribute(pair.key.lowercased(), text))
            }
        }
        if !out.headers.isEmpty, WebURL.isWeb(url), !WebURL.isPrivate(url) {
            map.report(
                "bad-value", at: given,
                "with headers, endpoint must be an https URL, or http on this machine")
        }
        if let percent = map.integer("sample", in: 0...100) { out.samplePercent = Int(percent) }
        out.caFile = map.text("ca")?.text
        return out
    }

    private static func isField(_ name: String, _ text: String) -> Bool {
        Names.isName(name)
            && text.utf8.allSatisfy { $0 >= 0x20 && $0 != 0x7F }
    }
}
