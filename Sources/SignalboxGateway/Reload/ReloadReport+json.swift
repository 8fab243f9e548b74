package import SignalboxCore

extension ReloadReport {
    /// One JSON object, as `signalbox reload --json` prints it.
    public var text: String { json.text }

    /// For scripts.
    package var json: JSONValue {
        [
            "check": .bool(isCheck), "routes": routes.json, "plugins": plugins.json,
            "settings": Self.list(settings), "need_restart": Self.list(needRestart),
            "left_behind": Self.list(leftBehind), "warnings": Self.list(warnings),
        ]
    }

    /// The names of everything added, removed or changed; nil if nothing is.
    package var changes: JSONValue? {
        let lists = [
            ("routes_added", routes.added), ("routes_removed", routes.removed),
            ("routes_changed", routes.changed), ("plugins_added", plugins.added),
            ("plugins_removed", plugins.removed), ("plugins_changed", plugins.changed),
            ("settings", settings),
        ].filter { !$0.1.isEmpty }
        return lists.isEmpty ? nil : .object(lists.map { .init($0.0, Self.list($0.1)) })
    }

    fileprivate static func list(_ texts: [String]) -> JSONValue {
        .array(texts.map { .string($0) })
    }
}

extension ReloadReport.Names {
    fileprivate var json: JSONValue {
        [
            "added": ReloadReport.list(added), "removed": ReloadReport.list(removed),
            "changed": ReloadReport.list(changed), "kept": ReloadReport.list(kept),
        ]
    }
}

/// A report for people.
package struct ReloadText {
    package let text: String

    package init(_ report: JSONValue) {
        func names(_ value: JSONValue?) -> String? {
            let names = value?.texts ?? []
            return names.isEmpty ? nil : names.joined(separator: ", ")
        }
        var lines: [String] = []
        func add(_ words: String, _ value: JSONValue?) {
            guard let names = names(value) else { return }
            lines.append("  \(words): \(names)")
        }
        for (member, one) in [("routes", "routes"), ("plugins", "plugins")] {
            let part = report[member]
            add("\(one) added", part?["added"])
            add("\(one) removed", part?["removed"])
            add(one == "plugins" ? "plugins replaced" : "routes changed", part?["changed"])
        }
        add("plugins kept", report["plugins"]?["kept"])
        add("settings changed", report["settings"])
        let change = lines.count { !$0.hasPrefix("  plugins kept") }
        add("needs a restart", report["need_restart"])
        add("did not stop in time", report["left_behind"])
        lines += report["warnings"]?.texts.map { "  warning: \($0)" } ?? []
        let isCheck = report["check"] == .bool(true)
        let first =
            switch (isCheck, change) {
            case (true, 0): "a reload would change nothing"
            case (true, _): "a reload would be accepted"
            case (false, 0): "reloaded, nothing has changed"
            case (false, _): "reloaded"
            }
        text = ([first] + lines).joined(separator: "\n")
    }
}
