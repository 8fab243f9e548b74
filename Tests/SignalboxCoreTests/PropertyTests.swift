import SignalboxCore
import Testing

/// Random checks of what must always hold for the retry policy, in virtual time.
///
/// Every failure reports the seed.
@Suite struct PropertyTests {
    static let seeds: [UInt64] = (0..<20).map { _ in UInt64.random(in: 0 ... .max) }

    @Test(arguments: seeds)
    func `a retry policy waits longer each time, within its bounds, and ends`(seed: UInt64) {
        var random = SplitMix(state: seed)
        for _ in 0..<200 {
            let initial = random.next() % 100_000 + 1
            let policy = RetryPolicy(
                name: "p", initialMs: initial, factor: 1 + Double(random.next() % 500) / 100,
                maxMs: initial + random.next() % 10_000_000, retries: UInt32(random.next() % 30),
                jitter: Double(random.next() % 101) / 100)
            var last: UInt64 = 0
            for attempt in 1...max(1, policy.retries) {
                guard policy.retries > 0 else { break }
                let plain = policy.waitMs(afterAttempt: attempt, hintMs: 0, random: 0) ?? 0
                #expect(plain >= last && plain >= initial && plain <= policy.maxMs, "seed \(seed)")
                last = plain
                let chance = Double(random.next() % 1_000) / 1_000
                let spread = policy.waitMs(afterAttempt: attempt, hintMs: 0, random: chance) ?? 0
                // `plain` was rounded down before the jitter was added.
                let most = (Double(plain) + 1) * (1 + policy.jitter)
                #expect(spread >= plain && Double(spread) <= most, "seed \(seed)")
                let hint = random.next() % 20_000_000
                let hinted = policy.waitMs(afterAttempt: attempt, hintMs: hint, random: chance)
                let heard = min(hint, RetryPolicy.hintMsMax)
                let late = heard + UInt64(Double(heard) * 0.1 * chance)
                #expect(hinted == max(spread, late), "seed \(seed)")
            }
            let over = policy.waitMs(afterAttempt: policy.retries + 1, hintMs: 0, random: 0)
            #expect(over == nil, "seed \(seed)")
        }
    }
}
