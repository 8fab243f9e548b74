internal import SignalboxCore

/// Which plugin instance serves a path. A segment `{name}` matches any one segment.
struct PathTable<Owner: Sendable>: Sendable {
    /// A path that was found.
    struct Match {
        var owner: Owner
        var pattern: String
        var params: [Attribute]
    }
    /// What a look-up came to.
    enum Found {
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

    init() {}

    /// Adds a path; false if that very pattern is taken.
    mutating func add(pattern: String, methods: [String], owner: Owner) -> Bool {
        let segments = Self.segments(pattern)
        let entry = Entry(pattern: pattern, segments: segments, methods: methods, owner: owner)
        if segments.contains(where: { $0.hasPrefix("{") }) {
            guard !patterns.contains(where: { $0.pattern == pattern }) else { return false }
            patterns.append(entry)
            return true
        }
        guard exact[pattern] == nil else { return false }
        exact[pattern] = entry
        return true
    }

    /// Finds who serves a path; an exact path wins over a pattern.
    func find(method: String, path: String) -> Found {
        if let entry = exact[path] { return answer(entry, method: method, params: []) }
        let segments = Self.segments(path)
        for entry in patterns where entry.segments.count == segments.count {
            var params: [Attribute] = []
            var isMatch = true
            for (wanted, given) in zip(entry.segments, segments) {
                if wanted.hasPrefix("{"), wanted.hasSuffix("}") {
                    let name = String(wanted.dropFirst().dropLast())
                    guard !given.isEmpty, let value = Self.decoded(given) else {
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

    private static func segments(_ path: String) -> [Substring] {
        path.split(separator: "/" as Character, omittingEmptySubsequences: false)
    }

    /// Undoes percent-encoding; nil if it is malformed or not UTF-8.
    static func decoded(_ text: some StringProtocol) -> String? {
        var bytes: [UInt8] = []
        var rest = Array(text.utf8)[...]
        while let byte = rest.popFirst() {
            guard byte == UInt8(ascii: "%") else {
                bytes.append(byte)
                continue
            }
            let digits = String(decoding: rest.prefix(2), as: UTF8.self)
            // The reader of numbers would take a sign as well.
            guard rest.count >= 2, rest.prefix(2).allSatisfy(isHexDigit),
                let value = UInt8(digits, radix: 16)
            else { return nil }
            rest.removeFirst(2)
            bytes.append(value)
        }
        return String(validating: bytes, as: UTF8.self)
    }

    private static func isHexDigit(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "a")...UInt8(ascii: "f"),
            UInt8(ascii: "A")...UInt8(ascii: "F"):
            true
        default: false
        }
    }
}
