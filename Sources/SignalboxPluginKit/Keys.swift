/// Reads a config, and says in the same place what it may be.
///
/// ```swift
/// struct Config: Sendable {
///     static let schema = Keys.schema { try Config($0) }
///     let button: String
///
///     init(_ keys: Keys) throws(PluginError) {
///         button = keys.text("button", bytes: 1...64, default: "Open", "the words on the button")
///     }
/// }
/// ```
///
/// `schema` runs the initializer without a config, and writes down what it asks for. So an initializer asks for
/// each key, whatever the values of others are, and checks them afterwards: `schema` does not see what follows a `throw`.
/// A key without a default is required. Limits, patterns and defaults are the host's work: it has applied them before
/// a plugin is made. The last argument tells users what to write.
public struct Keys {
    private final class Form {
        var properties: [(key: String, json: String)] = []
        var required: [String] = []

        /// A schema; `more` writes further members.
        func schema(_ words: String, _ facts: String = "") -> String {
            var out = JSONWriter()
            out.object { out in
                out.member("type", "object")
                if !facts.isEmpty { out.raw(facts) }
                out.member("description", words)
                if !required.isEmpty { out.list("required", required) }
                out.key("properties")
                out.object { out in
                    for (key, json) in properties {
                        out.key(key)
                        out.raw(json)
                    }
                }
            }
            return out.text
        }
    }

    /// Nil while a schema is written.
    private let json: JSON?
    private let form: Form?

    /// Reads a config that fits the schema.
    public init(_ json: JSON) {
        self.json = json
        form = nil
    }

    private init(_ form: Form) {
        json = nil
        self.form = form
    }

    /// The schema of what `read` asks for; `facts` are members of its root, such as `"family": "apns"`.
    public static func schema(_ facts: String = "", _ read: (Keys) throws -> some Any) -> String {
        let form = Form()
        // Without values the checks behind the last key may well fail.
        _ = try? read(Keys(form))
        return form.schema("", facts)
    }

    /// The value of a key; its schema in addition to type and description is what `rest` writes.
    private func value(
        _ key: String, _ type: String, isRequired: Bool = false, _ words: String,
        _ rest: (inout JSONWriter) -> Void = { _ in }
    ) -> JSON? {
        if let form {
            var out = JSONWriter()
            out.object { out in
                out.member("type", type)
                rest(&out)
                out.member("description", words)
            }
            form.properties.append((key, out.text))
            if isRequired { form.required.append(key) }
        }
        return json?[key]
    }

    /// Text.
    public func text(
        _ key: String, bytes: some RangeExpression<Int> = 0..., pattern: String = "",
        default: String? = nil, _ words: String = ""
    ) -> String {
        let value = value(key, "string", isRequired: `default` == nil, words) { out in
            out.limits("Length", bytes)
            out.member("pattern", pattern)
            if let text = `default` { out.always("default", text) }
        }
        return value?.string ?? `default` ?? ""
    }

    /// The name of a secret, for the host's services; empty if it is not given.
    public func secret(
        _ key: String, bytes: some RangeExpression<Int> = 1..., isRequired: Bool = false,
        _ words: String = ""
    ) -> String {
        let value = value(key, "string", isRequired: isRequired, words) { out in
            out.member("format", "secret")
            out.limits("Length", bytes)
        }
        return value?.string ?? ""
    }

    /// A file that the plugin or the host opens: a path that can be used as it is; empty if it is not given.
    public func file(_ key: String, _ words: String = "") -> String {
        let value = value(key, "string", words) { out in
            out.member("format", "path")
            out.always("default", "")
        }
        return value?.string ?? ""
    }

    /// An address with a scheme and a host; by default it is empty.
    public func uri(
        _ key: String, bytes: some RangeExpression<Int> = 0..., default: String? = "",
        _ words: String = ""
    ) -> String {
        let value = value(key, "string", isRequired: `default` == nil, words) { out in
            out.member("format", "uri")
            out.limits("Length", bytes)
            if let text = `default` { out.always("default", text) }
        }
        return value?.string ?? `default` ?? ""
    }

    /// One of some words, the first of which is the default.
    ///
    /// If it `isOptional` it is empty by default; if it `isRequired` there is no default.
    public func choice(
        _ key: String, _ words: [String], isOptional: Bool = false, isRequired: Bool = false,
        _ description: String = ""
    ) -> String {
        let standard = isOptional || isRequired ? "" : words.first ?? ""
        let value = value(key, "string", isRequired: isRequired, description) { out in
            out.list("enum", words)
            out.member("default", standard)
        }
        return value?.string ?? standard
    }

    /// One of the cases, the first of which is the default.
    public func choice<Choice: RawRepresentable<String> & CaseIterable>(
        _ key: String, _ cases: Choice.Type, _ words: String = ""
    ) -> Choice {
        let word = choice(key, cases.allCases.map(\.rawValue), words)
        return Choice(rawValue: word) ?? cases.allCases[cases.allCases.startIndex]
    }

    /// True or false.
    public func flag(_ key: String, default: Bool = false, _ words: String = "") -> Bool {
        let value = value(key, "boolean", words) { out in
            out.member("default", `default`)
        }
        return value?.boolean ?? `default`
    }

    /// A whole number.
    public func number<Number: FixedWidthInteger>(
        _ key: String, _ range: ClosedRange<Number>, default: Number, _ words: String = ""
    ) -> Number {
        let value = value(key, "integer", words) { out in
            for (name, number) in [
                ("minimum", range.lowerBound), ("maximum", range.upperBound),
                ("default", `default`),
            ] {
                out.member(name, number)
            }
        }
        return value?.integer.map { Number(clamping: $0) } ?? `default`
    }

    /// One of some whole numbers, the first of which is the default.
    public func number(_ key: String, oneOf numbers: [Int], _ words: String = "") -> Int {
        let value = value(key, "integer", words) { out in
            out.key("enum")
            out.array { out in for number in numbers { out.integer(number) } }
            if let first = numbers.first { out.member("default", first) }
        }
        return value?.integer.map { Int(clamping: $0) } ?? numbers.first ?? 0
    }

    /// A list of texts, which is empty by default if it may be empty.
    public func texts(
        _ key: String, count: some RangeExpression<Int>, bytes: some RangeExpression<Int> = 0...,
        pattern: String = "", default: [String] = [], _ words: String = ""
    ) -> [String] {
        let mayMiss = !`default`.isEmpty || count.contains(0)
        let value = value(key, "array", isRequired: !mayMiss, words) { out in
            out.limits("Items", count)
            if mayMiss { out.list("default", `default`) }
            out.key("items")
            out.object { out in
                out.member("type", "string")
                out.limits("Length", bytes)
                out.member("pattern", pattern)
            }
        }
        return value?.elements.compactMap(\.string) ?? `default`
    }

    /// The names of any number of secrets.
    public func secrets(
        _ key: String, count: some RangeExpression<Int>, _ words: String = ""
    ) -> [String] {
        let value = value(key, "array", words) { out in
            out.limits("Items", count)
            out.list("default", [])
            out.key("items")
            out.raw(#"{"type":"string","format":"secret","minLength":1}"#)
        }
        return value?.elements.compactMap(\.string) ?? []
    }

    /// Any JSON object; nil if it is not given.
    public func json(_ key: String, _ words: String = "") -> JSON? {
        value(key, "object", words) { out in
            out.member("additionalProperties", true)
        }
    }

    /// A map with keys of its own; nil if it is not given.
    public func object<Value>(
        _ key: String, isRequired: Bool = false, _ words: String = "",
        _ read: (Keys) throws(PluginError) -> Value
    ) throws(PluginError) -> Value? {
        if let form {
            let inner = Form()
            _ = try? read(Keys(inner))
            form.properties.append((key, inner.schema(words)))
            if isRequired { form.required.append(key) }
        }
        guard let given = json?[key], given.kind == .object else { return nil }
        return try read(Keys(given))
    }

    /// A list of maps, which is empty by default if it may be empty.
    public func list<Value>(
        _ key: String, count: some RangeExpression<Int>, _ words: String = "",
        _ read: (Keys) throws(PluginError) -> Value
    ) throws(PluginError) -> [Value] {
        let mayMiss = count.contains(0)
        let given = value(key, "array", isRequired: !mayMiss, words) { out in
            let inner = Form()
            _ = try? read(Keys(inner))
            out.limits("Items", count)
            if mayMiss { out.list("default", []) }
            out.key("items")
            out.raw(inner.schema(""))
        }
        var values: [Value] = []
        for element in given?.elements ?? [] { values.append(try read(Keys(element))) }
        return values
    }
}

extension JSONWriter {
    /// `minLength` and `maxLength`, or the same of `Items`, as far as the range has ends.
    fileprivate mutating func limits(_ what: String, _ range: some RangeExpression<Int>) {
        let all = range.relative(to: 0..<Int.max)
        if all.lowerBound > 0 {
            key("min\(what)")
            integer(all.lowerBound)
        }
        guard all.upperBound < Int.max else { return }
        key("max\(what)")
        integer(all.upperBound - 1)
    }

    fileprivate mutating func list(_ name: String, _ texts: [String]) {
        key(name)
        array { out in for text in texts { out.string(text) } }
    }

    /// A member with a string, even if that is empty.
    fileprivate mutating func always(_ name: String, _ text: String) {
        key(name)
        string(text)
    }
}
