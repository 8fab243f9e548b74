public import SignalboxCore

/// A receiver of outcomes: one entry of `outcomes:`.
public struct OutcomeReceiver: Sendable, Hashable {
    /// Its name in logs and metrics.
    public var name: String
    /// Where batches go.
    public var target: Target
    /// The results it wants.
    public var wish: OutcomeWish

    /// Where batches go.
    public enum Target: Sendable, Hashable {
        /// Posted to a URL. The secret signs them and is never logged; `caFile` is a PEM file of trusted roots, nil for
        /// the system's.
        case web(url: String, secret: String, caFile: String?)
        /// Passed to the instance with this name.
        case plugin(String)
    }

    /// The instance that gets the batches, or nil.
    public var plugin: String? { if case .plugin(let name) = target { name } else { nil } }
}

/// The `outcomes:` section.
struct OutcomesReader {
    /// Names of the routes.
    let routes: [String]
    let diagnostics: Diagnostics

    func read(_ value: ConfigValue?) -> [OutcomeReceiver] {
        guard let value else { return [] }
        guard case .list(let items) = value.kind else {
            diagnostics.report(
                "wrong-type", at: value.position,
                "outcomes must be a list of receivers, each with name, url and secret, or name and plugin"
            )
            return []
        }
        var out: [OutcomeReceiver] = []
        for item in items {
            guard let receiver = receiver(item) else { continue }
            if out.contains(where: { $0.name == receiver.name }) {
                diagnostics.report(
                    "duplicate-name", at: item.position,
                    "outcomes \"\(receiver.name)\": another receiver has this name")
            }
            out.append(receiver)
        }
        return out
    }

    private func receiver(_ value: ConfigValue) -> OutcomeReceiver? {
        let given = value["name"].flatMap { $0.isSecret ? nil : $0.string }
        let owner = given.map { "outcomes \"\($0)\"" } ?? "outcomes"
        guard let map = MapReader(value, owner: owner, .receiver, diagnostics) else {
            return nil
        }
        let name = map.text("name", required: true)
        if let name, !Names.isName(name.text) || name.value.isSecret {
            map.report("bad-name", at: name.value, Names.rule(name.value))
        }
        let wish = OutcomeWish(results: results(map), routes: chosenRoutes(map))
        if let plugin = map.text("plugin") {
            for key in ["url", "secret", "ca"] where map[key] != nil {
                map.report(
                    "bad-value", at: map[key], "\(key) is for receivers without plugin; remove one")
            }
            return name.map {
                OutcomeReceiver(name: $0.text, target: .plugin(plugin.text), wish: wish)
            }
        }
        let url = map.text("url", required: true)
        if let url, !WebURL.isPrivate(url.text) {
            map.report(
                "bad-value", at: url.value, "url must be an https URL, or http on this machine")
        }
        let secret = map.text("secret", required: true)
        if let secret, secret.text.utf8.count < 16 {
            map.report("bad-value", at: secret.value, "secret must have at least 16 characters")
        }
        let file = map.text("ca")?.text
        guard let name, let url, let secret else { return nil }
        return OutcomeReceiver(
            name: name.text,
            target: .web(url: url.text, secret: secret.text, caFile: file), wish: wish)
    }

    private func results(_ map: MapReader) -> Set<OutcomeResult> {
        guard let items = list("results", map) else { return OutcomeResult.usual }
        let known = OutcomeResult.allCases.map(\.name)
        var out: Set<OutcomeResult> = []
        for item in items {
            let word = item.string ?? ""
            if let result = OutcomeResult(name: word) {
                out.insert(result)
            } else {
                map.report(
                    "bad-value", at: item,
                    "a result must be one of \(known.joined(separator: ", "))"
                        + (item.isSecret ? "" : Suggestion.hint(for: word, among: known)))
            }
        }
        return out
    }

    private func chosenRoutes(_ map: MapReader) -> Set<String>? {
        guard let items = list("routes", map) else { return nil }
        for item in items where !routes.contains(item.string ?? "") {
            map.report(
                "unknown-route", at: item,
                "routes names an unknown route \(item.shown(item.string ?? "", among: routes))")
        }
        return Set(items.compactMap(\.string))
    }

    private func list(_ key: String, _ map: MapReader) -> [ConfigValue]? {
        guard let value = map[key] else { return nil }
        if case .list(let items) = value.kind, !items.isEmpty { return items }
        map.report("wrong-type", at: value, "\(key) must be a list; omit it for all")
        return []
    }
}
