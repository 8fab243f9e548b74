internal import SignalboxCore

/// The top-level `retry:`: policies by name.
enum RetryReader {
    /// The policies, including `standard`.
    static func read(_ value: ConfigValue?, _ diagnostics: Diagnostics) -> [String: RetryPolicy] {
        var policies = [RetryPolicy.standard.name: RetryPolicy.standard]
        guard let value else { return policies }
        guard case .map(let entries) = value.kind else {
            diagnostics.report(
                "wrong-type", at: value.position, "retry must be a map of policies by name")
            return policies
        }
        for entry in entries {
            let owner = "retry policy \"\(entry.key)\""
            guard entry.key != RetryPolicy.standard.name, Names.isName(entry.key) else {
                diagnostics.report(
                    "bad-name", at: entry.keyPosition,
                    "\(owner): \"standard\" is built in; other names have letters, digits, - and _")
                continue
            }
            guard let map = MapReader(entry.value, owner: owner, .policy, diagnostics) else {
                continue
            }
            var policy = RetryPolicy.standard
            policy.name = entry.key
            if let ms = map.duration("initial", in: 1...86_400_000) { policy.initialMs = ms }
            if let factor = map.number("factor", in: 1...100) { policy.factor = factor }
            policy.maxMs = max(policy.maxMs, policy.initialMs)
            if let ms = map.duration("max", in: 1...86_400_000) {
                policy.maxMs = ms
                if ms < policy.initialMs {
                    map.report("bad-value", at: map["max"], "max must not be below initial")
                }
            }
            if let count = map.integer("retries", in: 0...100) { policy.retries = UInt32(count) }
            if let jitter = map.number("jitter", in: 0...1) { policy.jitter = jitter }
            policies[entry.key] = policy
        }
        return policies
    }
}
