internal import SignalboxConfig
internal import SignalboxCore
internal import SignalboxPluginHost

/// `routes:`, compared with what the plugins declare.
extension CheckRule {
    static let routes = [
        CheckRule(.warning, "double-push") { subject in
            subject.plugins.filter { subject.config.deviceListeners.names.contains($0.name) }
                .flatMap { plugin in
                    subject.config.routes.compactMap { doublePush($0, by: plugin) }
                }
        },
        CheckRule(.warning, "same-route") { subject in sameRoutes(subject.config.routes) },
        CheckRule(.warning, "unknown-type") { subject in
            subject.config.routes.flatMap { unknownTypes($0, subject) }
        },
        CheckRule(.warning, "unknown-field") { subject in
            subject.config.routes.flatMap { unknownFields($0, subject) }
        },
        CheckRule(.warning, "unknown-platform") { subject in
            subject.config.routes.flatMap { unknownPlatforms($0, subject) }
        },
        CheckRule(.warning, "unknown-family") { subject in
            subject.config.routes.flatMap { unknownFamilies($0, subject) }
        },
    ]

    /// A route that pushes what the provider pushes itself.
    ///
    /// A source may get device reports and still have its events pushed: some providers call a webhook only for devices
    /// they know. The plugin's schema says which events a provider pushes itself (`providerPushes`).
    private static func doublePush(
        _ settings: RouteSettings, by plugin: CheckedPlugin
    ) -> Finding? {
        guard let position = settings.sourcePositions[plugin.name] else { return nil }
        let taken = settings.route.condition.types
        let twice = plugin.providerPushes.filter { taken?.contains($0) ?? true }
        guard !twice.isEmpty else { return nil }
        return Finding(
            position,
            "route \"\(settings.route.name)\" pushes \(twice.joined(separator: ", ")), and so "
                + "does the provider of \"\(plugin.name)\", which devices.report tells of the "
                + "devices: users get it twice; take \"\(plugin.name)\" out of devices.report, "
                + "or these events out of the route")
    }

    /// Routes that send the same push to the same devices.
    private static func sameRoutes(_ routes: [RouteSettings]) -> [Finding] {
        routes.enumerated().compactMap { index, later in
            let earlier = routes[..<index].first { earlier in
                Set(earlier.route.sources) == Set(later.route.sources)
                    && earlier.route.condition == later.route.condition
                    && earlier.given["filter"]?.json == later.given["filter"]?.json
                    && earlier.route.builder == later.route.builder
                    && built(earlier) == built(later)
                    && earlier.route.senders.contains { later.route.senders[$0.key] == $0.value }
            }
            guard let earlier else { return nil }
            return Finding(
                later.position,
                "route \"\(later.route.name)\" takes and sends the same as \"\(earlier.route.name)\": users "
                    + "get it twice")
        }
    }

    /// What a route builds, without the builder's name, which is optional.
    private static func built(_ settings: RouteSettings) -> [String: String] {
        let entries = settings.given["build"]?.entries.filter { $0.key != "with" } ?? []
        return Dictionary(entries.map { ($0.key, $0.value.json.text) }) { $1 }
    }

    /// The events the sources of a route emit; nil if one of them may emit anything.
    static func emitted(
        _ settings: RouteSettings, _ subject: CheckSubject
    ) -> [(type: String, fields: [String])]? {
        var out: [(type: String, fields: [String])] = []
        for source in settings.route.sources {
            guard let emits = subject.plugin(source)?.facts.emits else { return nil }
            out += emits
        }
        return out
    }

    private static func unknownTypes(
        _ settings: RouteSettings, _ subject: CheckSubject
    ) -> [Finding] {
        guard let emits = emitted(settings, subject), let when = settings.given["when"] else {
            return []
        }
        let (name, types) = (settings.route.name, emits.map(\.type))
        let sources = settings.route.sources.joined(separator: ", ")
        let known = Set(types).sorted().joined(separator: ", ")
        let wrong = settings.types.filter { !types.contains($0.name) }
        if wrong.isEmpty, !types.contains(where: settings.route.condition.canHold) {
            return [
                Finding(
                    when.position,
                    "route \"\(name)\": no event of \(sources) can match this when; types: \(known)"
                )
            ]
        }
        return wrong.map { type, position in
            Finding(
                position,
                "route \"\(name)\": \"\(type)\" is no event of \(sources)"
                    + "\(Suggestion.hint(for: type, among: types)); types: \(known)")
        }
    }

    private static func unknownFields(
        _ settings: RouteSettings, _ subject: CheckSubject
    ) -> [Finding] {
        let slips = slips(settings)
        guard let emits = emitted(settings, subject) else { return slips }
        // If no type matches, the types have a finding of their own.
        let events = emits.filter { settings.route.condition.canHold(type: $0.type) }
        let fields = events.flatMap(\.fields)
        guard !events.isEmpty else { return slips }
        // Filters may add fields, but conditions are evaluated before them.
        let read =
            settings.filters.isEmpty
            ? settings.fields[...] : settings.fields.prefix(settings.conditionFieldCount)
        let unknown: [Finding] = read.compactMap { path, position in
            guard path.root == .data, !PluginFacts.isKnown(path.names, among: fields) else {
                return nil
            }
            let field = path.names.joined(separator: ".")
            let names = Set(fields).subtracting(["*"]).sorted()
            let known =
                names.isEmpty ? "there are none" : "fields: \(names.joined(separator: ", "))"
            return Finding(
                position,
                "route \"\(settings.route.name)\": no event that it takes has the field \"\(field)\""
                    + "\(Suggestion.hint(for: field, among: names)); \(known)")
        }
        let found = Set(unknown.map(\.position))
        return unknown + slips.filter { !found.contains($0.position) }
    }

    /// Sources may emit any field and give recipients any attribute, so only swapped or missing letters are certain to
    /// be a typo.
    private static func slips(_ settings: RouteSettings) -> [Finding] {
        settings.fields.compactMap { path, position in
            guard path.root == .data || path.root == .recipient, path.names.count == 1,
                let name = path.names.first
            else { return nil }
            let isData = path.root == .data
            // `data.typ` explicitly means a field of the data.
            guard !isData || !settings.speltFields.contains(path.text) else { return nil }
            let known =
                isData
                ? ["type", "subject", "source", "time"] : ["user", "locale", "platform", "app"]
            guard let meant = Suggestion.nearest(to: name, among: known), name != meant,
                name.count < meant.count || name.sorted() == meant.sorted()
            else { return nil }
            return Finding(
                position,
                "route \"\(settings.route.name)\": \"\(path.text)\" would be "
                    + (isData ? "a field of the event's data" : "an attribute of the recipient")
                    + " (did you mean \"\(isData ? "" : "recipient.")\(meant)\"?)")
        }
    }

    private static func unknownPlatforms(
        _ settings: RouteSettings, _ subject: CheckSubject
    ) -> [Finding] {
        // Those that the senders' schemas name.
        let known = subject.plugins.flatMap(\.facts.platforms)
        let set = settings.given["build"]?["set"]
        let maps = [settings.given["send"], set?["link"]].compactMap { $0 }
        return maps.flatMap { map -> [Finding] in
            let entries = map.entries
            let names = entries.map { $0.key.lowercased() }
            return entries.compactMap { entry in
                // Custom platforms are fine; a name close to a known one that is missing here is a typo.
                guard let meant = slip(entry.key.lowercased(), known), !names.contains(meant) else {
                    return nil
                }
                return Finding(
                    entry.keyPosition,
                    "route \"\(settings.route.name)\": no device has the platform \"\(entry.key)\" (did "
                        + "you mean \"\(meant)\"?)")
            }
        }
    }

    /// The platform that was meant: one edit away, letters only. Digits and hyphens are taken as intended.
    private static func slip(_ name: String, _ platforms: [String]) -> String? {
        guard !platforms.contains(name), name.allSatisfy(\.isLetter) else { return nil }
        return platforms.first { Suggestion.isOneStep(from: name, to: $0) }
    }

    private static func unknownFamilies(
        _ settings: RouteSettings, _ subject: CheckSubject
    ) -> [Finding] {
        let senders = Set(settings.route.senders.values).sorted()
        let known = senders.compactMap { subject.plugin($0)?.facts.family }
        // A sender that does not declare its family may have any.
        guard known.count == senders.count else { return [] }
        return (settings.given["build"]?["overrides"]?.entries ?? []).compactMap { entry in
            guard entry.key != "shorten", entry.key != "localized", !known.contains(entry.key)
            else { return nil }
            return Finding(
                entry.keyPosition,
                "route \"\(settings.route.name)\": no sender of it has the family \"\(entry.key)\""
                    + "\(Suggestion.hint(for: entry.key, among: known)); families: "
                    + Set(known).sorted().joined(separator: ", "))
        }
    }
}
