internal import SignalboxCore

/// The `texts:` section: texts of routes in several languages.
enum TextsReader {
    static func read(
        _ value: ConfigValue?, _ diagnostics: Diagnostics
    ) -> [String: TextByLocale] {
        guard let value else { return [:] }
        guard case .map(let entries) = value.kind else {
            diagnostics.report(
                "wrong-type", at: value.position,
                "texts must be a map such as { reply: { default: \"New reply\", de: \"Neue Antwort\" } }"
            )
            return [:]
        }
        var texts: [String: TextByLocale] = [:]
        for entry in entries {
            guard Names.isName(entry.key) else {
                diagnostics.report(
                    "bad-name", at: entry.keyPosition,
                    "texts: a name has letters, digits, - and _, at most 64")
                continue
            }
            texts[entry.key] = text(entry.value, owner: "texts.\(entry.key)", diagnostics)
        }
        return texts
    }

    private static func text(
        _ value: ConfigValue, owner: String, _ diagnostics: Diagnostics
    ) -> TextByLocale? {
        guard case .map(let entries) = value.kind else {
            diagnostics.report(
                "wrong-type", at: value.position, "\(owner) must be a map from locale to text")
            return nil
        }
        let reader = TemplateReader(owner: owner, diagnostics: diagnostics)
        var fallback: Template?
        var texts: [String: Template] = [:]
        for entry in entries {
            guard let template = reader.template(entry.value, name: entry.key) else { continue }
            if entry.key == "default" {
                fallback = template
            } else {
                texts[entry.key] = template
            }
        }
        guard let fallback else {
            if value["default"] == nil {
                diagnostics.report(
                    "missing-key", at: value.position,
                    "\(owner): default is required: the text for every other locale")
            }
            return nil
        }
        return TextByLocale(texts, default: fallback)
    }
}
