internal import SignalboxCore

/// Reads the `tests:` section.
struct TestsReader {
    let plugins: [String]
    let sources: [String]
    let routes: [Route]
    let diagnostics: Diagnostics

    func read(_ value: ConfigValue) -> [RouteTest] {
        guard case .list(let items) = value.kind else {
            diagnostics.report("wrong-type", at: value.position, "tests must be a list")
            return []
        }
        var seen: Set<String> = []
        return items.compactMap { item in
            guard let test = test(item) else { return nil }
            if !seen.insert(test.name).inserted {
                diagnostics.report(
                    "duplicate-name", at: item.position, "there are two tests \"\(test.name)\"")
            }
            return test
        }
    }

    private func test(_ item: ConfigValue) -> RouteTest? {
        let name = item["name"]?.string ?? ""
        let owner = name.isEmpty ? "test" : "test \"\(name)\""
        guard
            let map = MapReader(
                item, owner: owner, .example, diagnostics)
        else { return nil }
        _ = map.text("name", required: true)
        var expectations: [RouteTest.Expectation] = []
        if case .list(let expected) = map["expect"]?.kind {
            expectations = expected.compactMap { expectation($0, owner) }
        } else {
            map.report("missing-key", at: map["expect"], "expect must be a list")
        }
        guard let value = map["given"] else {
            map.report("missing-key", at: nil, "given is required")
            return nil
        }
        guard let given = given(value, owner) else { return nil }
        return RouteTest(
            name: name, position: item.position, given: given, devices: list("devices", map),
            answers: list("answers", map) ?? [], nowUnixMs: instant("now", map),
            expect: expectations)
    }

    private func instant(_ key: String, _ map: MapReader) -> UInt64? {
        guard let (text, value) = map.text(key) else { return nil }
        guard let time = InstantText.unixMs(text) else {
            map.report(
                "bad-value", at: value,
                "\(key) must be a time with its offset, such as 2026-01-02T23:30:00+01:00 or 2026-01-02T22:30:00Z"
            )
            return nil
        }
        return time
    }

    private func list(_ key: String, _ map: MapReader) -> [JSONValue]? {
        guard let value = map[key] else { return nil }
        guard case .list(let items) = value.kind else {
            map.report("wrong-type", at: value, "\(key) must be a list of maps")
            return []
        }
        return items.map(\.json)
    }

    private func given(_ value: ConfigValue, _ owner: String) -> RouteTest.Given? {
        guard
            let map = MapReader(
                value, owner: "\(owner) given",
                .given, diagnostics)
        else { return nil }
        if let event = map["event"] {
            let source = map.text("source", required: true)
            check(source, sources + plugins, "source", map)
            return source.map { .event(source: $0.text, event.json) }
        }
        let plugin = map.text("plugin", required: true)
        check(plugin, plugins, "plugin", map)
        guard let plugin else { return nil }
        var webhook = RouteTest.Webhook(plugin: plugin.text)
        webhook.method = map.text("method")?.text
        webhook.path = map.text("path")?.text
        webhook.query = map.text("query")?.text ?? ""
        webhook.headers = headers(map)
        webhook.body = map["body"]?.json
        webhook.bodyFile = map.text("body_file")?.text
        if webhook.body != nil, webhook.bodyFile != nil {
            map.report("bad-value", at: map["body_file"], "give body or body_file, not both")
        }
        return .webhook(webhook)
    }

    private func headers(_ map: MapReader) -> [Attribute] {
        guard let value = map["headers"] else { return [] }
        guard case .map(let entries) = value.kind else {
            map.report("wrong-type", at: value, "headers must be a map")
            return []
        }
        return entries.map { entry in
            Attribute(entry.key.lowercased(), entry.value.json.scalarText ?? "")
        }
    }

    private func expectation(_ value: ConfigValue, _ owner: String) -> RouteTest.Expectation? {
        guard
            let map = MapReader(
                value, owner: "\(owner) expect",
                .expected, diagnostics)
        else { return nil }
        var out = RouteTest.Expectation(position: value.position)
        let (route, sender) = (map.text("route"), map.text("send"))
        check(route, routes.map(\.name), "route", map)
        check(sender, plugins, "plugin", map)
        out.route = route?.text
        out.sender = sender?.text
        out.platform = map.text("platform")?.text
        out.user = map.text("user")?.text
        out.pushes = map.integer("pushes", in: 0...1_000_000).map { Int($0) }
        out.payload = map["payload"]?.json
        out.payloadFile = map.text("payload_file")?.text
        out.headers = headers(map)
        out.skipped = map.text("skipped")?.text
        out.status = map.integer("status", in: 100...599).map { Int($0) }
        let isAtOnce = map.text("not_before")?.text == "now"
        out.notBeforeUnixMs = isAtOnce ? 0 : instant("not_before", map)
        if let payload = map["payload"], case .map = payload.kind {
        } else if let payload = map["payload"] {
            map.report("wrong-type", at: payload, "payload must be a map of members")
        }
        refuseIdle(out, map)
        return out
    }

    /// Keys that inspect the matching pushes.
    private static let looks = ["payload", "payload_file", "headers", "not_before"]

    /// Reports expectations that hold whatever the gateway does.
    private func refuseIdle(_ wanted: RouteTest.Expectation, _ map: MapReader) {
        for key in ["payload", "headers"] {
            guard let value = map[key], case .map(let entries) = value.kind, entries.isEmpty else {
                continue
            }
            map.report(
                "bad-value", at: value, "\(key) is empty, which every push fits: name a member")
        }
        if wanted.skipped != nil {
            for key in ["send", "pushes", "status"] + Self.looks {
                guard let value = map[key] else { continue }
                map.report(
                    "bad-value", at: value,
                    "\(key) says nothing of somebody who is skipped: expect it in an entry of its own"
                )
            }
            return
        }
        if wanted.pushes == 0 {
            for key in Self.looks {
                guard let value = map[key] else { continue }
                map.report("bad-value", at: value, "with pushes: 0 there is no push with \(key)")
            }
        }
        // Unknown names were already reported.
        guard wanted.sender.map(plugins.contains) ?? true,
            wanted.route.map({ name in routes.contains { $0.name == name } }) ?? true,
            wanted.sender != nil || wanted.platform != nil,
            !routes.contains(where: { sends($0, as: wanted) })
        else { return }
        let words = [
            wanted.route.map { "route \"\($0)\"" } ?? "no route", "sends",
            wanted.sender.map { "by \"\($0)\"" } ?? "",
            wanted.platform.map { "to platform \"\($0)\"" } ?? "",
        ].filter { !$0.isEmpty }.joined(separator: " ")
        map.report(
            "bad-value", at: map[wanted.platform == nil ? "send" : "platform"],
            wanted.route == nil ? words : words.replacing(" sends ", with: " never sends "))
    }

    /// Whether a route can produce such pushes.
    private func sends(_ route: Route, as wanted: RouteTest.Expectation) -> Bool {
        (wanted.route == nil || wanted.route == route.name)
            && route.senders.contains { platform, sender in
                (wanted.platform == nil || wanted.platform == platform)
                    && (wanted.sender == nil || wanted.sender == sender)
            }
    }

    private func check(
        _ found: (text: String, value: ConfigValue)?, _ known: [String], _ what: String,
        _ map: MapReader
    ) {
        guard let found, !known.contains(found.text) else { return }
        map.report(
            "unknown-\(what)", at: found.value,
            "unknown \(what) \(found.value.shown(found.text, among: known))")
    }
}
