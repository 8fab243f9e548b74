internal import SignalboxCore

/// Checks the `tests:` section: its structure and its names.
///
/// The expectations are checked when the tests run.
enum TestsReader {
    static func check(
        _ value: ConfigValue, plugins: [String], routes: [String], _ diagnostics: Diagnostics
    ) {
        guard case .list(let items) = value.kind else {
            diagnostics.report("wrong-type", at: value.position, "tests must be a list")
            return
        }
        for item in items {
            let name = item["name"]?.string ?? ""
            let owner = name.isEmpty ? "test" : "test \"\(name)\""
            guard
                let test = MapReader(
                    item, owner: owner, known: ["name", "given", "expect"], diagnostics)
            else { continue }
            _ = test.text("name", required: true)
            if let given = test["given"] {
                let map = MapReader(
                    given, owner: "\(owner) given",
                    known: ["plugin", "body", "body_file", "headers"], diagnostics)
                checkName(map?.text("plugin", required: true), plugins, "plugin", map)
            } else {
                test.report("missing-key", at: nil, "given is required")
            }
            guard case .list(let expected) = test["expect"]?.kind else {
                test.report("missing-key", at: test["expect"], "expect must be a list")
                continue
            }
            for expectation in expected {
                let map = MapReader(
                    expectation, owner: "\(owner) expect",
                    known: ["route", "send", "payload"], diagnostics)
                checkName(map?.text("route"), routes, "route", map)
                checkName(map?.text("send"), plugins, "plugin", map)
            }
        }
    }

    private static func checkName(
        _ found: (text: String, value: ConfigValue)?, _ known: [String], _ what: String,
        _ map: MapReader?
    ) {
        guard let found, let map, !known.contains(found.text) else { return }
        map.report(
            "unknown-\(what)", at: found.value,
            "unknown \(what) \(found.value.shown(found.text, among: known))")
    }
}
