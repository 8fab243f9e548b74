import Testing

@testable import SignalboxPostgres

/// How long ended leases of others are left alone after an outage. Times in milliseconds; a lease is 20 s.
@Suite struct TakeoverGraceTests {
    @Test func `without an outage an ended lease is free`() {
        var grace = TakeoverGrace(leaseMs: 20_000)
        grace.reached(1_000, sinceUnixMs: 990)
        #expect(grace.othersDue(1_000) == 1_000)
        #expect(grace.leftMs(1_000) == 0)
    }

    @Test func `leases that ended in an outage wait for five seconds more`() {
        var grace = TakeoverGrace(leaseMs: 20_000)
        grace.lost(1_000)
        grace.lost(15_000)
        #expect(grace.othersDue(24_000) == 1_000)
        grace.reached(24_000, sinceUnixMs: 23_990)
        #expect(grace.othersDue(28_000) == 1_000)
        #expect(grace.leftMs(28_000) == 1_000)
        #expect(grace.othersDue(29_000) == 29_000)
        grace.reached(29_000, sinceUnixMs: 28_990)
        #expect(grace.leftMs(29_000) == 0)
    }

    @Test(arguments: [true, false])
    func `an outage that began under a commit counts from its beginning`(isCommitted: Bool) {
        var grace = TakeoverGrace(leaseMs: 20_000)
        if isCommitted {
            grace.reached(24_000, sinceUnixMs: 1_000)
        } else {
            grace.lost(1_000)
            grace.reached(24_010, sinceUnixMs: 24_000)
        }
        #expect(grace.othersDue(25_000) == 1_000)
    }

    @Test func `a short outage ends no lease`() {
        var grace = TakeoverGrace(leaseMs: 20_000)
        grace.lost(1_000)
        grace.reached(6_000, sinceUnixMs: 5_990)
        #expect(grace.othersDue(6_000) == 6_000)
    }
}
