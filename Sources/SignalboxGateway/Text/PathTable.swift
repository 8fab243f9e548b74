package import SignalboxCore

/// Which plugin instance serves a path. A segment `{name}` matches any one segment.
package struct PathTable<Owner: Sendable>: Sendable {
    /// A path that was found.
    package struct Match {
        package var owner: Owner
        package var pattern: String
        package var params: [Attribute]
    }
    /// The result of a look-up.
    package enum Found {
        case match(Match)
        case wrongMethod(allowed: [String])
        case none
    }
    private struct Entry: Sendable {
        var pattern: String
        var segments: [Substring]
        var methods: [String]
        var owner: Owner
    }

    private var exact: [String: Entry] = [:]
    private var patterns: [Entry] = []

    package init() {}

    /// Adds a path, or returns its owner if it exists; patterns conflict whatever their names: `/{a}` equals `/{b}`.
    package mutating func add(pattern: String, methods: [String], owner: Owner) -> Owner? {
        let segments = Self.segments(pattern)
        let entry = Entry(pattern: pattern, segments: segments, methods: methods, owner: owner)
        if segments.contains(where: Self.isAny) {
            let shape = Self.shape(segments)
            if let taken = patterns.first(where: { Self.shape($0.segments) == shape }) {
                return taken.owner
            }
            patterns.append(entry)
            return nil
        }
        if let taken = exact[pattern] { return taken.owner }
        exact[pattern] = entry
        return nil
    }

    /// A path with its owner.
    package typealias Place = (pattern: String, owner: Owner)

    /// All paths.
    package var places: [Place] {
        exact.values.map { ($0.pattern, $0.owner) }.sorted { $0.pattern < $1.pattern }
            + patterns.map { ($0.pattern, $0.owner) }
    }

    /// Paths that are shadowed for some requests by another path.
    package var shadows: [(place: Place, by: Place)] {
        var out: [(Place, Place)] = []
        for (index, entry) in patterns.enumerated() {
            let before = exact.values.sorted { $0.pattern < $1.pattern } + patterns[..<index]
            for other in before where Self.overlap(entry.segments, other.segments) {
                out.append(((entry.pattern, entry.owner), (other.pattern, other.owner)))
            }
        }
        return out
    }

    private static func overlap(_ a: [Substring], _ b: [Substring]) -> Bool {
        a.count == b.count && zip(a, b).allSatisfy { isAny($0) || isAny($1) || $0 == $1 }
    }

    /// Finds the owner of a path; an exact path takes precedence over a pattern.
    package func find(method: String, path: String) -> Found {
        if let entry = exact[path] { return answer(entry, method: method, params: []) }
        let segments = Self.segments(path)
        for entry in patterns where entry.segments.count == segments.count {
            var params: [Attribute] = []
            var isMatch = true
            for (wanted, given) in zip(entry.segments, segments) {
                if Self.isAny(wanted) {
                    let name = String(wanted.dropFirst().dropLast())
                    guard !given.isEmpty, let value = PercentEncoding.decode(given) else {
                        isMatch = false
                        break
                    }
                    params.append(Attribute(name, value))
                } else if wanted != given {
                    isMatch = false
                    break
                }
            }
            if isMatch { return answer(entry, method: method, params: params) }
        }
        return .none
    }

    private func answer(_ entry: Entry, method: String, params: [Attribute]) -> Found {
        guard entry.methods.contains(method) else { return .wrongMethod(allowed: entry.methods) }
        return .match(Match(owner: entry.owner, pattern: entry.pattern, params: params))
    }

    private static func isAny(_ segment: Substring) -> Bool {
        segment.hasPrefix("{") && segment.hasSuffix("}")
    }

    private static func shape(_ segments: [Substring]) -> [Substring] {
        segments.map { isAny($0) ? "{}" : $0 }
    }

    private static func segments(_ path: String) -> [Substring] {
        path.split(separator: "/" as Character, omittingEmptySubsequences: false)
    }
}
