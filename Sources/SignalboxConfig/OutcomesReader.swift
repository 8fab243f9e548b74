public import SignalboxCore

/// A receiver of results: one entry of `outcomes:`.
public struct OutcomeReceiver: Sendable, Hashable {
    /// Appears in logs and metrics.
    public var name: String
    /// The URL that batches are posted to.
    public var url: String
    /// Signs the batches.
    ///
    /// Never logged.
    public var secret: String
    /// The results it wants.
    public var wish: OutcomeWish
    /// PEM file of trusted roots; nil for the system's.
    public var caFile: String?
}

/// The `outcomes:` section.
struct OutcomesReader {
    private static let keys = ["name", "url", "secret", "routes", "results", "ca"]

    /// Names of the routes.
    let routes: [String]
    /// The folder that relative paths start from.
    let folder: String
    let diagnostics: Diagnostics

    func read(_ value: ConfigValue?) -> [OutcomeReceiver] {
        guard let value else { return [] }
        guard case .list(let items) = value.kind else {
            diagnostics.report(
                "wrong-type", at: value.position,
                "outcomes must be a list of receivers, each with name, url and secret")
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
        let owner = value["name"]?.string.map { "outcomes \"\($0)\"" } ?? "outcomes"
        guard let map = MapReader(value, owner: owner, known: Self.keys, diagnostics) else {
            return nil
        }
        let name = map.text("name", required: true)
        if let name, !Names.isName(name.text) {
            map.report(
                "bad-name", at: name.value, "a name has letters, digits, - and _, at most 64")
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
        let wish = OutcomeWish(results: results(map), routes: chosenRoutes(map))
        let file = map.text("ca")?.text
        guard let name, let url, let secret else { return nil }
        return OutcomeReceiver(
            name: name.text, url: url.text, secret: secret.text, wish: wish,
            caFile: file.map { $0.hasPrefix("/") ? $0 : "\(folder)/\($0)" })
    }

    private func results(_ map: MapReader) -> Set<OutcomeResult> {
        guard let items = list("results", map) else { return Set(OutcomeResult.allCases) }
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
