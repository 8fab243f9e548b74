import Testing

@testable import Signalbox
@testable import SignalboxGateway

@Suite struct ConnectOutageTests {
    @Test func `an outage has a line at its beginning, one per interval, and one at its end`() {
        var outage = ConnectOutage()
        #expect(outage.connected(nowMs: 500) == nil)
        #expect(outage.failed(nowMs: 1_000) == .began)
        for nowMs in [1_100, 5_000, 30_999] as [UInt64] {
            #expect(outage.failed(nowMs: nowMs) == nil)
        }
        #expect(outage.failed(nowMs: 31_000) == .lasts(attempts: 5, ms: 30_000))
        #expect(outage.failed(nowMs: 60_999) == nil)
        #expect(outage.failed(nowMs: 61_000) == .lasts(attempts: 7, ms: 60_000))
        #expect(outage.connected(nowMs: 62_000) == .ended(attempts: 7, ms: 61_000))
        // Further connections are no news, and the next outage is a new one.
        #expect(outage.connected(nowMs: 62_001) == nil)
        #expect(outage.failed(nowMs: 63_000) == .began)
        #expect(outage.connected(nowMs: 64_500) == .ended(attempts: 1, ms: 1_500))
    }
}
