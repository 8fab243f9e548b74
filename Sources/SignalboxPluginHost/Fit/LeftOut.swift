internal import SignalboxCore
internal import SignalboxJSON

/// Optional members of a payload, which are dropped if it does not fit.
struct LeftOut {
    /// The path to a member, and its name in metrics and traces.
    struct Member {
        var path: [String]
        var name: String
    }

    /// In the order in which they are dropped.
    let members: [Member]

    /// Finds the members that patterns name: pointers in which a step `*` is each element or member, the last first.
    init(_ patterns: [[String]], in payload: JSONValue) {
        var members: [Member] = []
        for pattern in patterns {
            let name = pattern.last { $0 != "*" } ?? ""
            Self.find(pattern[...], in: payload, at: []) {
                members.append(Member(path: $0, name: name))
            }
        }
        self.members = members
    }

    /// The payload without the first members.
    func payload(_ payload: JSONValue, without count: Int) -> JSONValue {
        Self.without(members.prefix(count).map { $0.path[...] }, payload)
    }

    /// The names of the first members.
    func names(_ count: Int) -> ShortenedTexts {
        members.prefix(count).reduce([]) { $0.union(ShortenedTexts(member: $1.name)) }
    }

    private static func find(
        _ pattern: ArraySlice<String>, in value: JSONValue, at path: [String],
        _ found: ([String]) -> Void
    ) {
        guard let step = pattern.first else { return found(path) }
        let rest = pattern.dropFirst()
        switch inner(value) {
        case .object(let members):
            for member in step == "*" ? members.reversed() : members.filter({ $0.key == step }) {
                find(rest, in: member.value, at: path + [member.key], found)
            }
        case .array(let elements):
            for index in elements.indices.reversed() where step == "*" || step == String(index) {
                find(rest, in: elements[index], at: path + [String(index)], found)
            }
        default: return
        }
    }

    private static func without(
        _ paths: [ArraySlice<String>], _ value: JSONValue
    ) -> JSONValue {
        guard !paths.isEmpty else { return value }
        let below = Dictionary(grouping: paths) { $0.first ?? "" }
        func kept(_ key: String, _ value: JSONValue) -> JSONValue? {
            guard let paths = below[key] else { return value }
            return paths.contains { $0.count == 1 }
                ? nil : without(paths.map { $0.dropFirst() }, value)
        }
        switch inner(value) {
        case .object(let members):
            let left = JSONValue.object(
                members.compactMap { member in
                    kept(member.key, member.value).map { JSONValue.Member(member.key, $0) }
                })
            return isText(value) ? .string(left.text) : left
        case .array(let elements):
            let left = JSONValue.array(
                elements.enumerated().compactMap { kept(String($0.offset), $0.element) })
            return isText(value) ? .string(left.text) : left
        default: return value
        }
    }

    private static func isText(_ value: JSONValue) -> Bool {
        if case .string = value { true } else { false }
    }

    /// What a value holds, also behind a string of JSON.
    private static func inner(_ value: JSONValue) -> JSONValue {
        guard case .string(let text) = value else { return value }
        return (try? JSONValue.parse(text)) ?? value
    }
}
