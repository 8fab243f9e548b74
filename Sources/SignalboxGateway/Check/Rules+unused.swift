internal import SignalboxConfig
internal import SignalboxCore
internal import SignalboxPluginHost

/// Configuration that is never used, and files of `tests:`.
extension CheckRule {
    static let unused = [
        CheckRule(.warning, "unused-plugin") { subject in
            guard subject.hasAllRoutes else { return [] }
            return unnamed(subject).compactMap { plugin in
                // A plugin that takes requests may serve files or registrations and need no route.
                let takesRequests = plugin.library.descriptor.roles.contains("sbx.role.ingest/1")
                let isSource = plugin.isSource
                guard !takesRequests || isSource || plugin.facts.emits != nil else { return nil }
                return Finding(
                    plugin.settings.position,
                    (takesRequests || isSource) && plugin.facts.emits?.isEmpty != true
                        ? "plugin \"\(plugin.name)\": no route takes its events"
                        : "plugin \"\(plugin.name)\" is not used: no route, devices.report or "
                            + "outcomes names it")
            }
        },
        CheckRule(.warning, "unused-policy") { subject in
            guard subject.hasAllRoutes else { return [] }
            let routes = subject.config.given?["routes"]?.items ?? []
            let used = Set(routes.compactMap { $0["deliver"]?["retry"]?.string })
            return (subject.config.given?["retry"]?.entries ?? []).compactMap { policy in
                guard !used.contains(policy.key) else { return nil }
                return Finding(
                    policy.keyPosition, "retry policy \"\(policy.key)\" is not used by any route")
            }
        },
        CheckRule(.warning, "unused-text") { subject in
            guard subject.hasAllRoutes else { return [] }
            let texts = subject.config.given?["routes"]?.texts.compactMap(\.string) ?? []
            return (subject.config.given?["texts"]?.entries ?? []).compactMap { entry in
                guard !texts.contains(where: { $0.contains("texts.\(entry.key)") }) else {
                    return nil
                }
                return Finding(
                    entry.keyPosition, "texts.\(entry.key) is not used by any route")
            }
        },
        CheckRule(.warning, "missing-body") { subject in
            (subject.config.given?["tests"]?.items ?? []).compactMap { test in
                guard let value = test["given"]?["body_file"], let file = value.string,
                    let words = subject.fault(ofFile: subject.config.path(file))
                else { return nil }
                let shown = value.isSecret ? "" : "\(subject.config.path(file)) "
                return Finding(
                    value.position,
                    "test \"\(test["name"]?.string ?? "")\": body_file: the file \(shown)\(words)")
            }
        },
    ]

    private static func unnamed(_ subject: CheckSubject) -> [CheckedPlugin] {
        let named = Set(
            ["routes", "devices", "outcomes"].flatMap {
                subject.config.given?[$0]?.texts.compactMap(\.string) ?? []
            })
        return subject.plugins.filter { !named.contains($0.name) }
    }
}
