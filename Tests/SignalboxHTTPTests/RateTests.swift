import SignalboxHTTP
import Testing

/// Rates of requests, by source and by client address.
@Suite struct RateTests {
    private let second: UInt64 = 1_000_000_000

    @Test func `a bucket gives two seconds' worth at once, then its rate`() {
        var bucket = TokenBucket(perSecond: 10, nowNs: 0)
        for _ in 0..<20 { #expect(bucket.take(perSecond: 10, nowNs: 0) == nil) }
        #expect(bucket.take(perSecond: 10, nowNs: 0) == 1)
        #expect(bucket.take(perSecond: 10, nowNs: second / 10) == nil)
        #expect(bucket.take(perSecond: 10, nowNs: second / 10) == 1)
        // It never holds more than two seconds' worth, and a clock that stands still gives nothing.
        for _ in 0..<20 { #expect(bucket.take(perSecond: 10, nowNs: 100 * second) == nil) }
        #expect(bucket.take(perSecond: 10, nowNs: 99 * second) == 1)
    }

    @Test func `names do not take from each other, and a flood of names is forgotten`() {
        var buckets = TokenBuckets(countMax: 4)
        for _ in 0..<2 {
            #expect(buckets.take("a", perSecond: 1, nowNs: 0) == nil)
            #expect(buckets.take("b", perSecond: 1, nowNs: 0) == nil)
        }
        #expect(buckets.take("a", perSecond: 1, nowNs: 0) == 1)
        // Full buckets make room first.
        _ = buckets.take("c", perSecond: 1, nowNs: 0)
        _ = buckets.take("d", perSecond: 1, nowNs: 0)
        #expect(buckets.take("e", perSecond: 1, nowNs: second) == nil)
        #expect(buckets.take("a", perSecond: 1, nowNs: second) == nil)
        for number in 0..<1_000 {
            #expect(buckets.take("n\(number)", perSecond: 1, nowNs: second) == nil)
        }
    }
}
