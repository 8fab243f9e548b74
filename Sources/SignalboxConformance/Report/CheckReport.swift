public import SignalboxCore

/// The findings of a plugin check.
public struct CheckReport: Sendable {
    /// The result for a rule.
    public enum Verdict: String, Sendable {
        /// The rule holds.
        case pass
        /// The rule is broken.
        case fail
        /// The plugin has nothing that the rule applies to.
        case notApplicable = "not applicable"
        /// The rule could not be checked.
        case unchecked = "not checked"
    }

    /// One rule with its verdict.
    public struct Line: Sendable {
        /// The rule.
        public var rule: CheckRule
        /// Its verdict.
        public var verdict: Verdict
        /// What is wrong, or why there is no verdict.
        public var words: [String]
    }

    /// The plugin in one line.
    public internal(set) var title: String
    /// What to know beside the rules, such as roles that are not of this contract.
    public internal(set) var notes: [String]
    /// Every rule once, in order.
    public internal(set) var lines: [Line]

    /// The number of rules with a verdict.
    public func count(_ verdict: Verdict) -> Int {
        lines.count { $0.verdict == verdict }
    }

    /// Whether nothing failed.
    public var isClean: Bool { count(.fail) == 0 }

    /// For people: one line per rule. The rules of a role that the plugin lacks share a line.
    public var text: [String] {
        var out = [title] + notes.map { "note: \($0)" }
        var left = lines[...]
        while let first = left.first {
            let section = left.prefix { $0.rule.section == first.rule.section }
            left = left.dropFirst(section.count)
            out += ["", first.rule.section]
            if first.verdict != .pass, first.verdict != .fail,
                section.allSatisfy({ $0.verdict == first.verdict && $0.words == first.words })
            {
                let all = "\(first.rule.section).* (\(section.count) rules)"
                out.append(Self.start(first, all) + Self.why(first))
            } else {
                out += section.flatMap(Self.words)
            }
        }
        let counts: [(CheckReport.Verdict, String)] = [
            (.pass, "passed"), (.fail, "failed"), (.notApplicable, "not applicable"),
            (.unchecked, "not checked"),
        ]
        return out + ["", counts.map { "\(count($0.0)) \($0.1)" }.joined(separator: ", ")]
    }

    private static func words(_ line: Line) -> [String] {
        let start = start(line, line.rule.rawValue)
        switch line.verdict {
        case .pass: return [start + line.rule.text]
        case .fail:
            return [start + line.rule.text]
                + line.words.map { String(repeating: " ", count: 30) + $0 }
        case .notApplicable, .unchecked: return [start + why(line)]
        }
    }

    private static func why(_ line: Line) -> String {
        "\(line.verdict.rawValue): \(line.words.first ?? "")"
    }

    private static func start(_ line: Line, _ name: String) -> String {
        let mark =
            switch line.verdict {
            case .pass: "  pass  "
            case .fail: "  FAIL  "
            case .notApplicable: "  -     "
            case .unchecked: "  ?     "
            }
        return mark + name + String(repeating: " ", count: max(1, 22 - name.utf8.count))
    }

    /// For scripts, on one line.
    public var jsonText: String { json.text }

    /// For programs.
    public var json: JSONValue {
        [
            "plugin": .string(title), "clean": .bool(isClean),
            "notes": .array(notes.map(JSONValue.string)),
            "rules": .array(
                lines.map { line in
                    [
                        "rule": .string(line.rule.rawValue),
                        "verdict": .string(line.verdict.rawValue), "text": .string(line.rule.text),
                        "words": .array(line.words.map(JSONValue.string)),
                    ]
                }),
        ]
    }
}

/// Collects verdicts for a report; a failure outranks everything else.
struct CheckVerdicts {
    private static let wordsMax = 4
    private var found: [CheckRule: (verdict: CheckReport.Verdict, words: [String])] = [:]

    mutating func add(_ rule: CheckRule, _ verdict: CheckReport.Verdict, _ words: String) {
        let known = found[rule]
        if verdict == .fail {
            var all = known?.verdict == .fail ? known?.words ?? [] : []
            if all.count < Self.wordsMax, !all.contains(words) { all.append(words) }
            found[rule] = (.fail, all)
        } else if known == nil || known?.verdict == .pass {
            // A rule applies if it applies in any step.
            if known == nil || verdict != .notApplicable { found[rule] = (verdict, [words]) }
        }
    }

    func has(_ rule: CheckRule) -> Bool { found[rule] != nil }

    func hasFailed(_ rule: CheckRule) -> Bool { found[rule]?.verdict == .fail }

    var anyFailed: Bool { found.values.contains { $0.verdict == .fail } }

    /// Every rule once; those without a verdict were not reached.
    func lines(otherwise why: String) -> [CheckReport.Line] {
        CheckRule.allCases.map { rule in
            let (verdict, words) = found[rule] ?? (.unchecked, [why])
            return CheckReport.Line(rule: rule, verdict: verdict, words: words)
        }
    }
}
