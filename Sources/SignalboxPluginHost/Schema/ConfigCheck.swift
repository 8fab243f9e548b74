internal import SignalboxCore
internal import SignalboxPattern

/// Checks one config against its schema.
struct ConfigCheck {
    let owner: String
    let rootName: String
    /// The folder that relative paths start from.
    let folder: String
    private(set) var diagnostics: [Diagnostic] = []
    private(set) var secrets: [String: PluginSecret] = [:]
    private(set) var files: [NamedFile] = []
    private(set) var words: [(key: String, value: ConfigValue)] = []

    init(owner: String, rootName: String, folder: String) {
        self.owner = owner
        self.rootName = rootName
        self.folder = folder
    }

    /// The value as JSON; null where it cannot be used.
    mutating func value(_ given: ConfigValue, _ node: ConfigSchema.Node, path: [String])
        -> JSONValue
    {
        switch node.type {
        case .object: return object(given, node, path: path)
        case .array: return array(given, node, path: path)
        case .string: return string(given, node, path: path)
        case .integer, .number, .boolean: return scalar(given, node, path: path)
        }
    }

    private mutating func object(
        _ given: ConfigValue, _ node: ConfigSchema.Node, path: [String]
    ) -> JSONValue {
        var entries: [ConfigValue.Entry] = []
        switch given.kind {
        case .map(let map): entries = map
        case .null: break
        default:
            report("wrong-type", given, path, "must be a map")
            return .null
        }
        var members: [JSONValue.Member] = []
        for entry in entries {
            if let known = node.properties.first(where: { $0.key == entry.key }) {
                let json = value(entry.value, known.node, path: path + [entry.key])
                members.append(.init(entry.key, json))
            } else if node.allowsOtherKeys {
                members.append(.init(entry.key, entry.value.json))
            } else {
                let names = node.properties.map(\.key)
                let hint = Suggestion.hint(for: entry.key, among: names)
                let known =
                    names.isEmpty
                    ? "there are none" : "known: \(names.sorted().joined(separator: ", "))"
                diagnostics.append(
                    Diagnostic(
                        "unknown-key", at: entry.keyPosition,
                        "\(owner): unknown \(rootName) key \"\(entry.key)\"\(hint); \(known)"))
            }
        }
        for (key, child) in node.properties where !entries.contains(where: { $0.key == key }) {
            if let fallback = child.fallback {
                members.append(.init(key, fallback))
            } else if node.required.contains(key) {
                let what = child.text.isEmpty ? "" : " (\(child.text))"
                report("missing-key", given, path + [key], "is required\(what)")
            }
        }
        return .object(members)
    }

    private mutating func array(
        _ given: ConfigValue, _ node: ConfigSchema.Node, path: [String]
    ) -> JSONValue {
        guard case .list(let items) = given.kind, let itemNode = node.items else {
            report("wrong-type", given, path, "must be a list")
            return .null
        }
        if !node.lengths.contains(items.count) {
            report("bad-value", given, path, "must have \(Self.words(node.lengths)) elements")
        }
        var elements: [JSONValue] = []
        for (index, item) in items.enumerated() {
            elements.append(value(item, itemNode, path: path + [String(index)]))
        }
        return .array(elements)
    }

    private mutating func string(
        _ given: ConfigValue, _ node: ConfigSchema.Node, path: [String]
    ) -> JSONValue {
        guard case .string(var text) = given.kind else {
            switch given.kind {
            case .integer, .number, .bool:
                report("wrong-type", given, path, "must be text: put quotes around it")
            default: report("wrong-type", given, path, "must be text")
            }
            return .null
        }
        if given.isStandIn {
            text = Self.standIn(text, node, path)
        } else if let fault = node.fault(of: text) {
            report("bad-value", given, path, fault)
        }
        if !given.isStandIn { checkAllowed(.string(text), given, node, path) }
        if node.isURI, !given.isStandIn, let fault = Self.fault(ofURI: text) {
            report("bad-value", given, path, fault)
        }
        let name = path.joined(separator: ".")
        if node.isSelector, !given.isStandIn, !text.isEmpty, text.allSatisfy(\.isLetter) {
            words.append(("\(rootName).\(name)", given))
        }
        if node.isPath, !text.isEmpty {
            let file = text.hasPrefix("/") ? text : "\(folder)/\(text)"
            files.append(NamedFile(key: "\(rootName).\(name)", path: file, value: given))
            return .string(file)
        }
        guard node.isSecret else { return .string(text) }
        secrets[name] = PluginSecret(
            bytes: given.secretBytes ?? Array(text.utf8), file: given.secretFile)
        return .string(name)
    }

    /// What is wrong with an address; nothing of it is quoted, since it may hold a password.
    private static func fault(ofURI text: String) -> String? {
        guard !text.isEmpty else { return nil }
        guard let end = text.firstRange(of: "://"), end.lowerBound > text.startIndex else {
            return "must begin with a scheme, such as https://"
        }
        guard text.utf8.allSatisfy({ $0 > 0x20 && $0 != 0x7F }) else {
            return "must have no spaces and no control characters"
        }
        let authority = text[end.upperBound...].prefix { !"/?#".contains($0) }
        if authority.utf8.contains(UInt8(ascii: "@")) {
            return "must hold no user and no password in front of the host: they would be shown"
        }
        return authority.isEmpty ? "must name a host after ://" : nil
    }

    /// The text of a value that stands in for a missing one, or the schema's sample if it does not fit.
    private static func standIn(
        _ text: String, _ node: ConfigSchema.Node, _ path: [String]
    ) -> String {
        let fits =
            node.lengths.contains(text.utf8.count) && node.pattern?.matches(text) ?? true
            && (node.allowed.isEmpty || node.allowed.contains(.string(text)))
        if fits { return text }
        return node.allowed.first?.string
            ?? ConfigSchema.text(node, key: path.last ?? "", first: ["SAMPLE1234"])
    }

    private mutating func scalar(
        _ given: ConfigValue, _ node: ConfigSchema.Node, path: [String]
    ) -> JSONValue {
        let value =
            given.isStandIn
            ? ConfigSchema.sample(node, key: path.last ?? "") : Self.read(given, as: node.type)
        var size: Double?
        switch value {
        case .integer(let number): size = Double(number)
        case .number(let text): size = Double(text)
        case .bool: break
        default:
            let words: [ConfigSchema.ValueType: String] = [
                .integer: "must be a whole number", .boolean: "must be true or false",
            ]
            report("wrong-type", given, path, words[node.type] ?? "must be a number")
            return .null
        }
        if let size, !node.range.contains(size) {
            let bounds = Self.words(node.range)
            report("bad-value", given, path, "must be \(bounds)")
        }
        checkAllowed(value, given, node, path)
        return value
    }

    /// A value from `${env:...}` is text, so it is read as the type that the schema wants.
    private static func read(_ given: ConfigValue, as type: ConfigSchema.ValueType) -> JSONValue {
        switch (given.kind, type) {
        case (.integer(let number), .integer), (.integer(let number), .number): .integer(number)
        case (.number(let number), .number): .number("\(number)")
        case (.bool(let flag), .boolean): .bool(flag)
        case (.string(let text), .integer) where given.isSecret:
            Int64(text).map { .integer($0) } ?? .null
        case (.string(let text), .number) where given.isSecret:
            Double(text).map { .number("\($0)") } ?? .null
        case (.string("true"), .boolean) where given.isSecret: .bool(true)
        case (.string("false"), .boolean) where given.isSecret: .bool(false)
        default: .null
        }
    }

    private mutating func checkAllowed(
        _ value: JSONValue, _ given: ConfigValue, _ node: ConfigSchema.Node, _ path: [String]
    ) {
        guard !node.allowed.isEmpty, !node.allowed.contains(value) else { return }
        let names = node.allowed.compactMap(\.scalarText)
        // A value that came from a secret must not be shown.
        let hint = given.isSecret ? "" : Suggestion.hint(for: value.scalarText ?? "", among: names)
        report("bad-value", given, path, "must be one of \(names.joined(separator: ", "))\(hint)")
    }

    private mutating func report(
        _ code: String, _ given: ConfigValue, _ path: [String], _ what: String
    ) {
        let name = ([rootName] + path).joined(separator: ".")
        diagnostics.append(Diagnostic(code, at: given.position, "\(owner): \(name) \(what)"))
    }

    fileprivate static func words(_ range: ClosedRange<Int>) -> String {
        if range.upperBound == .max { return "at least \(range.lowerBound)" }
        if range.lowerBound == 0 { return "at most \(range.upperBound)" }
        return range.lowerBound == range.upperBound
            ? "exactly \(range.lowerBound)" : "\(range.lowerBound) to \(range.upperBound)"
    }

    private static func words(_ range: ClosedRange<Double>) -> String {
        func text(_ value: Double) -> String {
            value == value.rounded() && abs(value) < 1e15 ? "\(Int64(value))" : "\(value)"
        }
        if range.upperBound == .infinity { return "at least \(text(range.lowerBound))" }
        if range.lowerBound == -.infinity { return "at most \(text(range.upperBound))" }
        return "from \(text(range.lowerBound)) to \(text(range.upperBound))"
    }
}

extension ConfigSchema.Node {
    /// What is wrong with the length or form of a text, as words to follow its name; nil if nothing is.
    func fault(of text: String) -> String? {
        guard lengths.contains(text.utf8.count) else {
            return "must be \(ConfigCheck.words(lengths)) bytes long"
        }
        guard let pattern, !pattern.matches(text) else { return nil }
        let what = self.text.isEmpty ? "the pattern \(pattern.text)" : self.text
        return "does not have the right form: \(what)"
    }

    /// The same of a value that may be no text.
    func fault(of bytes: [UInt8]) -> String? {
        if let text = String(validating: bytes, as: UTF8.self) { return fault(of: text) }
        return lengths.contains(bytes.count)
            ? nil : "must be \(ConfigCheck.words(lengths)) bytes long"
    }
}
