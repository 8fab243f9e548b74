internal import SignalboxCore

/// The differences between a payload and the expected one, by path.
enum PayloadDiff {
    /// One line per difference; empty if they match.
    ///
    /// With `isWhole`, unexpected members count as differences, too. Otherwise only expected members are compared, and
    /// an expected null stands for a missing member.
    static func lines(
        expected: JSONValue, found: JSONValue, isWhole: Bool, at path: String = "payload"
    ) -> [String] {
        switch (expected, found) {
        case (.object(let wanted), .object(let given)):
            var out: [String] = []
            for member in wanted {
                let place = "\(path).\(member.key)"
                if let value = found[member.key] {
                    guard isWhole || member.value != .null || value == .null else {
                        out.append("\(place): expected nothing, found \(shown(value))")
                        continue
                    }
                    out += lines(
                        expected: member.value, found: value, isWhole: isWhole, at: place)
                } else if isWhole || member.value != .null {
                    out.append("\(place): expected \(shown(member.value)), found nothing")
                }
            }
            if isWhole {
                out += given.filter { expected[$0.key] == nil }.map {
                    "\(path).\($0.key): expected nothing, found \(shown($0.value))"
                }
            }
            return out
        case (.array(let wanted), .array(let given)) where wanted.count == given.count:
            return zip(wanted, given).enumerated().flatMap { index, pair in
                lines(expected: pair.0, found: pair.1, isWhole: isWhole, at: "\(path)[\(index)]")
            }
        default:
            if expected == found || isSameNumber(expected, found) { return [] }
            return ["\(path): expected \(shown(expected)), found \(shown(found))"]
        }
    }

    /// Compares values, since YAML keeps the spelling of `1.50`.
    private static func isSameNumber(_ a: JSONValue, _ b: JSONValue) -> Bool {
        switch (a, b) {
        case (.number, .number), (.number, .integer), (.integer, .number):
            a.scalarText.flatMap { Double($0) } == b.scalarText.flatMap { Double($0) }
        default: false
        }
    }

    private static func shown(_ value: JSONValue) -> String {
        let text = value.text
        return text.count <= 200 ? text : "\(text.prefix(200))…"
    }
}
