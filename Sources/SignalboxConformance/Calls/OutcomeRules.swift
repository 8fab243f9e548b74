internal import SignalboxCore

/// Rules for outcomes of any role.
enum OutcomeRules {
    /// Whether the text fits a metric label: a word, not a sentence.
    static func isLabel(_ text: String) -> Bool {
        !text.isEmpty && text.utf8.count <= 64
            && text.utf8.allSatisfy { $0 > 0x20 && $0 < 0x7F && $0 != 0x22 && $0 != 0x5C }
    }

    /// Checks reasons and limits; a fault counts against `rule`.
    static func check(_ outcomes: [Outcome], _ rule: CheckRule, _ findings: Findings) {
        for outcome in outcomes {
            let reason = outcome.reason
            if Marks.contains(reason, Marks.needle) {
                findings.fail(
                    rule, "a reason repeats what the provider sent: labels come from a closed list")
            } else if reason.isEmpty {
                if outcome.kind != .delivered {
                    findings.fail(rule, "an outcome of the kind \(outcome.kind) has no reason")
                }
            } else if !isLabel(reason) {
                findings.fail(
                    rule, "the reason \"\(reason.prefix(70))\" is not a word of at most 64 bytes")
            }
            if outcome.detail.utf8.count > 2_000 {
                findings.fail(rule, "a detail has \(outcome.detail.utf8.count) bytes")
            }
        }
    }
}
