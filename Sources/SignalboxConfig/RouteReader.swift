internal import SignalboxCore

/// The `routes:` section.
struct RouteReader {
    let plugins: [String]
    /// Sources whose events the embedding program submits.
    let programSources: [String]
    let policies: [String: RetryPolicy]
    /// Texts that templates can refer to.
    let texts: [String: TextByLocale]
    let diagnostics: Diagnostics
    private var lines: [String: Int] = [:]
    /// The field uses of the route being read.
    private var uses = FieldUses()

    init(
        plugins: [String], sources: [String], policies: [String: RetryPolicy],
        texts: [String: TextByLocale], diagnostics: Diagnostics
    ) {
        self.plugins = plugins
        programSources = sources
        self.policies = policies
        self.texts = texts
        self.diagnostics = diagnostics
    }

    mutating func read(_ value: ConfigValue) -> [RouteSettings] {
        guard case .list(let items) = value.kind, !items.isEmpty else {
            diagnostics.report(
                "wrong-type", at: value.position, "routes must be a list with at least one route")
            return []
        }
        var routes: [RouteSettings] = []
        for item in items {
            if let route = self.route(item) { routes.append(route) }
        }
        return routes
    }

    private mutating func route(_ value: ConfigValue) -> RouteSettings? {
        let given = value["name"].flatMap { $0.isSecret ? nil : $0.string } ?? ""
        let owner = given.isEmpty ? "route" : "route \"\(given)\""
        guard let map = MapReader(value, owner: owner, .route, diagnostics) else {
            return nil
        }
        let before = diagnostics.all.count
        uses = FieldUses()
        let name = self.name(map)
        let sources = self.sources(map)
        var condition = Condition.all([])
        if let when = map["when"] {
            if let read = Condition.parse(when, diagnostics: &diagnostics.all) {
                condition = read
                uses.add(when: when)
                uses.conditionCount = uses.fields.count
                if read.isImpossible {
                    map.report("unreachable-route", at: when, "no event can match this when")
                }
            }
        }
        let senders = self.senders(map)
        let filters = self.filters(map)
        let build = self.build(map, sources: sources)
        let rules = self.rules(map)
        guard diagnostics.all.count == before, let name, let build else { return nil }
        var route = Route(
            name: name, sources: sources.map(\.name), condition: condition,
            builder: build.builder, set: build.set,
            senders: Dictionary(
                senders.map { ($0.platform, $0.instance) }, uniquingKeysWith: { a, _ in a }),
            rules: rules)
        route.filters = filters.map { Route.Filter($0.name) }
        var settings = RouteSettings(
            route: route,
            position: value.position,
            sourcePositions: Dictionary(
                sources.map { ($0.name, $0.position) }, uniquingKeysWith: { a, _ in a }),
            filters: filters.map { ($0.position, $0.options) },
            builderPosition: build.position, builderOptions: build.options,
            senderPositions: Dictionary(
                senders.map { ($0.instance, $0.position) }, uniquingKeysWith: { a, _ in a }),
            given: value, fields: uses.fields, types: uses.types)
        settings.literals = uses.literals
        settings.conditionFieldCount = uses.conditionCount
        settings.speltFields = uses.spelt
        return settings
    }

    private mutating func name(_ map: MapReader) -> String? {
        guard let (name, value) = map.text("name", required: true) else { return nil }
        guard Names.isName(name), !value.isSecret else {
            map.report("bad-name", at: value, Names.rule(value))
            return nil
        }
        if let line = lines[name] {
            map.report("duplicate-name", at: value, "the name is taken on line \(line)")
            return nil
        }
        lines[name] = value.position.line
        return name
    }

    private func plugin(_ name: String, at value: ConfigValue, _ map: MapReader) -> Bool {
        if plugins.contains(name) { return true }
        let known = plugins.isEmpty ? "none" : plugins.joined(separator: ", ")
        map.report(
            "unknown-plugin", at: value,
            "unknown plugin \(value.shown(name, among: plugins)); known: \(known)")
        return false
    }

    private func sources(_ map: MapReader) -> [(name: String, position: SourcePosition)] {
        guard let value = map["from"] else {
            map.report("missing-key", at: nil, "from is required: whose events it takes")
            return []
        }
        var values = [value]
        if case .list(let items) = value.kind { values = items }
        if values.isEmpty { map.report("missing-key", at: value, "from is empty") }
        var out: [(name: String, position: SourcePosition)] = []
        for item in values {
            guard case .string(let name) = item.kind else {
                map.report(
                    "wrong-type", at: item, "from must be a plugin's name or a list of names")
                continue
            }
            if programSources.contains(name) || plugin(name, at: item, map) {
                out.append((name, item.position))
            }
        }
        return out
    }

    private func senders(
        _ map: MapReader
    ) -> [(platform: String, instance: String, position: SourcePosition)] {
        guard let value = map["send"] else {
            map.report(
                "missing-key", at: nil, "send is required: which plugin sends to which platform")
            return []
        }
        guard case .map(let entries) = value.kind, !entries.isEmpty else {
            map.report(
                "wrong-type", at: value, "send must be a map such as { ios: apns, android: fcm }")
            return []
        }
        var out: [(platform: String, instance: String, position: SourcePosition)] = []
        for entry in entries {
            guard case .string(let name) = entry.value.kind else {
                map.report(
                    "wrong-type", at: entry.value, "send.\(entry.key) must be a plugin's name")
                continue
            }
            if plugin(name, at: entry.value, map) {
                // Devices have platforms in lower case.
                out.append((entry.key.lowercased(), name, entry.value.position))
            }
        }
        return out
    }

    private func filters(
        _ map: MapReader
    ) -> [(name: String, position: SourcePosition, options: ConfigValue?)] {
        guard let value = map["filter"] else { return [] }
        guard case .list(let items) = value.kind else {
            map.report(
                "wrong-type", at: value,
                "filter must be a list of plugins, such as [quiet] or [{ with: quiet, options: {} }]"
            )
            return []
        }
        return items.compactMap { item in
            if case .string(let name) = item.kind {
                return plugin(name, at: item, map) ? (name, item.position, nil) : nil
            }
            guard
                let entry = MapReader(item, owner: "\(map.owner) filter", .filter, diagnostics),
                let (name, given) = entry.text("with", required: true),
                plugin(name, at: given, entry)
            else { return nil }
            return (name, given.position, entry["options"])
        }
    }

    private typealias Build = (
        builder: String, position: SourcePosition, options: ConfigValue?, set: ContentTemplates
    )

    private func build(
        _ map: MapReader, sources: [(name: String, position: SourcePosition)]
    ) -> Build? {
        var builder: (name: String, position: SourcePosition)?
        var options: ConfigValue?
        var set = ContentTemplates()
        if let section = map["build"] {
            let owner = "\(map.owner) build"
            guard
                let build = MapReader(section, owner: owner, .build, diagnostics)
            else { return nil }
            if let (name, value) = build.text("with") {
                if plugin(name, at: value, map) { builder = (name, value.position) }
            }
            options = build["options"]
            var templates = TemplateReader(
                owner: owner, texts: texts, diagnostics: diagnostics, uses: uses)
            if let value = build["set"] { templates.readSet(value, into: &set) }
            if let value = build["overrides"] { templates.readOverrides(value, into: &set) }
            if build["with"] != nil, builder == nil { return nil }
        }
        let plugins = sources.filter { !programSources.contains($0.name) }
        if builder == nil, sources.count == 1, let only = plugins.first {
            builder = (only.name, only.position)
        }
        guard let builder else {
            if sources.count == 1, plugins.isEmpty {
                map.report(
                    "missing-key", at: nil,
                    "build.with is required: \"\(sources[0].name)\" is a source without a plugin")
            } else if sources.count > 1 {
                map.report(
                    "missing-key", at: nil,
                    "build.with is required where from names several plugins")
            }
            return nil
        }
        return (builder.name, builder.position, options, set)
    }

    private func rules(_ map: MapReader) -> DeliveryRules {
        var rules = DeliveryRules()
        guard let section = map["deliver"],
            let deliver = MapReader(
                section, owner: "\(map.owner) deliver", .deliver, diagnostics)
        else { return rules }
        if let (name, value) = deliver.text("retry") {
            if let policy = policies[name] {
                rules.retry = policy
            } else {
                deliver.report(
                    "unknown-policy", at: value,
                    "unknown retry policy \(value.shown(name, among: policies.keys)); known: "
                        + policies.keys.sorted().joined(separator: ", "))
            }
        }
        if let ms = deliver.duration("expires", in: 1_000...30 * 86_400_000) {
            rules.expiresMs = ms
        }
        switch deliver.word("priority", of: ["high", "normal", "low"]) {
        case "high": rules.priority = .high
        case "low": rules.priority = .low
        default: break
        }
        if let value = deliver["collapse"] {
            let templates = TemplateReader(
                owner: deliver.owner, texts: texts, diagnostics: diagnostics, uses: uses)
            rules.collapse = templates.template(value, name: "collapse")
        }
        return rules
    }
}
