import SignalboxPluginKit

/// Live Activities, whose fields `aps` has under the same names.
enum LiveActivity {
    static let fields = [
        "content-state", "timestamp", "event", "stale-date", "dismissal-date", "attributes-type",
        "attributes", "relevance-score",
    ]

    /// Why a Live Activity push is invalid, so that the caller learns it at once; nil if it is valid, or another kind.
    static func fault(_ push: JSON) -> String? {
        guard push.words("push_type") == "liveactivity" else { return nil }
        func isObject(_ name: String) -> Bool { push[name]?.kind == .object }
        let event = push.words("event")
        guard ["start", "update", "end"].contains(event) else {
            return "event of a Live Activity must be start, update or end"
        }
        guard event == "end" || isObject("content-state") else {
            return "a Live Activity needs content-state, an object"
        }
        guard event == "start" else { return nil }
        guard !push.words("attributes-type").isEmpty, isObject("attributes") else {
            return "the start of a Live Activity needs attributes-type and attributes"
        }
        let alert = push["alert"]
        let hasText =
            ["title", "message"].contains { !push.words($0).isEmpty }
            || ["title", "body", "title-loc-key", "loc-key"].contains {
                alert?.words($0).isEmpty == false
            }
        return hasText ? nil : "the start of a Live Activity needs an alert: a title or a message"
    }
}
