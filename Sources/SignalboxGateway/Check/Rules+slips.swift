internal import SignalboxConfig
internal import SignalboxCore
internal import SignalboxPluginHost

/// Valid values that are almost certainly typos: they look like something other than what they are.
extension CheckRule {
    static let slips = [
        CheckRule(.warning, "literal-reference") { subject in
            (subject.config.given?.texts ?? []).compactMap { value in
                guard !value.isSecret, let text = value.string, let name = reference(in: text)
                else { return nil }
                return Finding(
                    value.position,
                    "\"\(name):\" is text here, and nothing is filled in; write \"${\(name):...}\"")
            }
        },
        CheckRule(.warning, "odd-secret") { subject in
            let sections = (subject.config.given?.entries ?? []).filter {
                // These hold content that is sent or tested, not secrets.
                !["routes", "texts", "tests"].contains($0.key)
            }
            return sections.flatMap(\.value.texts).compactMap { value in
                guard value.isSecret, !value.isStandIn, value.secretBytes == nil,
                    let fault = value.string.flatMap(oddity)
                else { return nil }
                return Finding(value.position, "the value of the variable or file \(fault)")
            }
        },
        CheckRule(.warning, "odd-secret") { subject in
            subject.plugins.flatMap { $0.settings.config?.texts ?? [] }.compactMap { value in
                // A path with an empty step lacks the secret that belongs there.
                guard subject.config.blanks.contains(value.position), let text = value.string,
                    text.hasPrefix("/"), text.hasSuffix("/") || text.contains("//")
                else { return nil }
                return Finding(
                    value.position,
                    "a variable or file in this path is empty, so anybody can guess the path; give it a value"
                )
            }
        },
        CheckRule(.warning, "literal-name") { subject in
            subject.plugins.flatMap { plugin in
                plugin.config.words.map { key, value in
                    let text = value.isSecret ? "(the value of a variable or file)" : value.string
                    return Finding(
                        value.position,
                        "plugin \"\(plugin.name)\": \(key): \"\(text ?? "")\" is the same text for every "
                            + "event; for a member of the event write \"/\(value.isSecret ? "name" : text ?? "")\""
                    )
                }
            }
        },
        CheckRule(.warning, "literal-pattern") { subject in
            subject.config.routes.flatMap { settings in
                settings.literals.compactMap { path, text, position in
                    // An unknown type has a finding of its own.
                    guard isPattern(text), path.root != .type || emitted(settings, subject) == nil
                    else { return nil }
                    return Finding(
                        position,
                        "route \"\(settings.route.name)\": \"\(text)\" is compared as it is written; "
                            + "for a pattern write { regex: \"...\" }")
                }
            }
        },
        CheckRule(.warning, "literal-placeholder") { subject in
            let file = subject.config.given
            let routes = (file?["routes"]?.items ?? []).flatMap { route in
                (route["build"]?["set"]?.texts ?? []) + (route["build"]?["overrides"]?.texts ?? [])
                    + (route["deliver"]?["collapse"]?.texts ?? [])
            }
            return (routes + (file?["texts"]?.texts ?? [])).compactMap { value in
                guard !value.isSecret, let found = value.string.flatMap(placeholder) else {
                    return nil
                }
                return Finding(
                    value.position,
                    "users get \"\(found)\" as it is written; a placeholder is \"{{ name }}\", and "
                        + "there are no statements")
            }
        },
    ]

    /// `env` or `file` if a text was meant as a reference: `$file:x`, `$(env:X)`, `{file:x}`, `file:x`.
    private static func reference(in text: String) -> String? {
        for name in ["env", "file"] {
            for start in ["$\(name):", "$(\(name):"] where text.contains(start) { return name }
            if text.hasPrefix("\(name):"), !text.hasPrefix("\(name)://") { return name }
            // "$${env:X}" is the escape for a literal "${env:X}".
            let braces = text.ranges(of: "{\(name):")
            if braces.contains(where: { !text[..<$0.lowerBound].hasSuffix("$") }) { return name }
        }
        return nil
    }

    /// Why a text is unlikely to be a secret; nil if it looks like one.
    private static func oddity(_ text: String) -> String? {
        if text.unicodeScalars.first == "\u{FEFF}" {
            return "begins with a byte order mark; save the file as UTF-8 without one"
        }
        // Keys, certificates and JSON have many lines and end with a line break.
        let isDocument = text.contains("-----BEGIN ") || text.first == "{" || text.first == "["
        if isDocument { return nil }
        if text.contains(where: \.isNewline) {
            return "has more than one line; leave only the secret in it"
        }
        guard text.first?.isWhitespace == true || text.last?.isWhitespace == true else {
            return nil
        }
        return "begins or ends with a space; take it out"
    }

    /// Whether a text contains regular-expression syntax.
    private static func isPattern(_ text: String) -> Bool {
        let pairs = [".*", ".+", "\\d", "\\w", "(?"]
        return text.hasSuffix("*") || text.hasPrefix("^") || text.hasSuffix("$")
            || pairs.contains(where: text.contains)
    }

    /// A placeholder or statement of another template language.
    private static func placeholder(in text: String) -> String? {
        if let found = text.firstMatch(of: #/\{%.*?%\}|<%.*?%>/#) { return String(found.output) }
        let single = #/(^|[^{$])(\{ ?[A-Za-z_][A-Za-z0-9_.]* ?\})($|[^}])/#
        return text.firstMatch(of: single).map { String($0.output.2) }
    }
}
