import Testing

@testable import SignalboxPostgres

/// How long ended leases of others are left alone after an outage. Times in milliseconds; a lease is 20 s.
@Suite struct CalmTests {
    @Test func `without an outage an ended lease is free`() {
        var calm = Calm(leaseMs: 20_000)
        calm.reached(1_000, sinceUnixMs: 990)
        #expect(calm.othersDue(1_000) == 1_000)
        #expect(calm.leftMs(1_000) == 0)
    }

    @Test func `leases that ended in an outage wait for five seconds more`() {
        var calm = Calm(leaseMs: 20_000)
        calm.lost(1_000)
        calm.lost(15_000)
        #expect(calm.othersDue(24_000) == 1_000)
        calm.reached(24_000, sinceUnixMs: 23_990)
        #expect(calm.othersDue(28_000) == 1_000)
        #expect(calm.leftMs(28_000) == 1_000)
        #expect(calm.othersDue(29_000) == 29_000)
        calm.reached(29_000, sinceUnixMs: 28_990)
        #expect(calm.leftMs(29_000) == 0)
    }

    @Test(arguments: [true, false])
    func `an outage that began under a commit counts from its beginning`(isCommitted: Bool) {
        var calm = Calm(leaseMs: 20_000)
        if isCommitted {
            calm.reached(24_000, sinceUnixMs: 1_000)
        } else {
            calm.lost(1_000)
            calm.reached(24_010, sinceUnixMs: 24_000)
        }
        #expect(calm.othersDue(25_000) == 1_000)
    }

    @Test func `a short outage ends no lease`() {
        var calm = Calm(leaseMs: 20_000)
        calm.lost(1_000)
        calm.reached(6_000, sinceUnixMs: 5_990)
        #expect(calm.othersDue(6_000) == 6_000)
    }
}
