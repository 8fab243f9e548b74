internal import SignalboxCore

/// Reads templates in `build.set`, `build.overrides` and elsewhere.
struct TemplateReader {
    let owner: String
    /// Texts that templates can refer to.
    var texts: [String: TextByLocale] = [:]
    let diagnostics: Diagnostics
    /// Collects the fields that templates read.
    var uses = FieldUses()

    /// A template; reports its faults.
    func template(_ value: ConfigValue, name: String) -> Template? {
        let text: String
        switch value.kind {
        case .string(let given): text = given
        case .integer(let number): text = String(number)
        case .bool(let flag): text = flag ? "true" : "false"
        default:
            diagnostics.report("wrong-type", at: value.position, "\(owner): \(name) must be text")
            return nil
        }
        do throws(TemplateFault) {
            let template = try Template.parse(text, texts: texts)
            uses.fields += template.fields.map { ($0, value.position) }
            uses.spelt.formUnion(
                template.fields.map(\.text).filter { text.contains("data.\($0)") })
            return template
        } catch {
            diagnostics.report(
                "bad-template", at: value.position,
                "\(owner): \(name): "
                    + (value.isSecret ? "the template is malformed" : error.message))
            return nil
        }
    }

    mutating func readSet(_ value: ConfigValue, into set: inout ContentTemplates) {
        guard MapReader(value, owner: "\(owner).set", .set, diagnostics) != nil,
            case .map(let entries) = value.kind
        else { return }
        for entry in entries {
            if entry.key == "link", case .map(let platforms) = entry.value.kind {
                for platform in platforms {
                    set.links[platform.key.lowercased()] = template(
                        platform.value, name: "set.link.\(platform.key)")
                }
            } else if entry.key == "badge", entry.value.string == "count" {
                set.countsBadge = true
            } else if let field = ContentTemplates.Field(rawValue: entry.key) {
                if [.title, .subtitle, .body].contains(field), case .map = entry.value.kind {
                    readLocalized(entry.value, field, into: &set)
                } else if let template = template(entry.value, name: "set.\(entry.key)"),
                    isSound(template.constant, of: field, at: entry.value.position)
                {
                    set.fields.append((field, template))
                }
            } else if entry.key == "data" {
                readData(entry.value, into: &set)
            }
        }
    }

    /// Whether a text without placeholders is valid for the field; reports it if not.
    private func isSound(
        _ text: String?, of field: ContentTemplates.Field, at position: SourcePosition
    ) -> Bool {
        let wanted: String? =
            switch (field, text) {
            case (.badge, let text?) where Int32(text) ?? -1 < 0:
                "a number from 0, a template or count"
            case (.withdraw, let text?) where text != "true" && text != "false": "true or false"
            default: nil
            }
        guard let wanted else { return true }
        diagnostics.report(
            "bad-value", at: position, "\(owner): set.\(field.rawValue) must be \(wanted)")
        return false
    }

    /// `{ loc_key: REPLY, loc_args: ["{{ agent }}"], text: "for senders without such texts" }`.
    private func readLocalized(
        _ value: ConfigValue, _ field: ContentTemplates.Field, into set: inout ContentTemplates
    ) {
        let name = "set.\(field.rawValue)"
        guard
            let map = MapReader(value, owner: "\(owner).\(name)", .appText, diagnostics)
        else { return }
        if let text = map["text"].flatMap({ template($0, name: "\(name).text") }) {
            set.fields.append((field, text))
        }
        var arguments: [Template] = []
        if let given = map["loc_args"] {
            guard case .list(let items) = given.kind else {
                map.report("wrong-type", at: given, "loc_args must be a list of texts")
                return
            }
            arguments = items.compactMap { template($0, name: "\(name).loc_args") }
        }
        guard let key = map["loc_key"] else {
            map.report("missing-key", at: nil, "loc_key is required")
            return
        }
        if let key = template(key, name: "\(name).loc_key") {
            set.localized.append((field, .init(key: key, arguments: arguments)))
        }
    }

    private func readData(_ value: ConfigValue, into set: inout ContentTemplates) {
        guard case .map(let entries) = value.kind else {
            diagnostics.report(
                "wrong-type", at: value.position, "\(owner): set.data must be a map of texts")
            return
        }
        for entry in entries {
            if let template = template(entry.value, name: "set.data.\(entry.key)") {
                set.data.append((entry.key, template))
            }
        }
    }

    mutating func readOverrides(_ value: ConfigValue, into set: inout ContentTemplates) {
        guard case .map(let entries) = value.kind else {
            diagnostics.report(
                "wrong-type", at: value.position,
                "\(owner): overrides must be a map by family, such as { apns: { ... } }")
            return
        }
        for entry in entries {
            guard case .map = entry.value.kind else {
                diagnostics.report(
                    "wrong-type", at: entry.value.position,
                    "\(owner): overrides.\(entry.key) must be a map")
                continue
            }
            if let json = json(entry.value, name: "overrides.\(entry.key)") {
                set.overrides.append((entry.key, json))
            }
        }
    }

    private func json(_ value: ConfigValue, name: String) -> ContentTemplates.JSONTemplate? {
        switch value.kind {
        case .string:
            guard let template = template(value, name: name) else { return nil }
            return template.constant.map { .constant(.string($0)) } ?? .text(template)
        case .list(let items):
            let parts = items.map { json($0, name: name) }
            return parts.contains { $0 == nil } ? nil : .list(parts.compactMap(\.self))
        case .map(let entries):
            var members: [(key: String, value: ContentTemplates.JSONTemplate)] = []
            for entry in entries {
                guard let part = json(entry.value, name: "\(name).\(entry.key)") else { return nil }
                members.append((entry.key, part))
            }
            return .map(members)
        case .null, .bool, .integer, .number: return .constant(value.json)
        }
    }
}
