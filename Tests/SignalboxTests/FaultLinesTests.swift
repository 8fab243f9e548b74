import Testing

@testable import Signalbox
@testable import SignalboxGateway

@Suite struct FaultLinesTests {
    @Test func `a fault that repeats is written once in 30 s, with a count`() {
        let lines = FaultLines()
        let secondNs: UInt64 = 1_000_000_000
        #expect(lines.write("damaged", nowNs: secondNs) == 0)
        #expect(lines.write("full", nowNs: secondNs) == 0)
        for _ in 0..<7 { #expect(lines.write("damaged", nowNs: 30 * secondNs) == nil) }
        #expect(lines.write("damaged", nowNs: 31 * secondNs) == 7)
        #expect(lines.write("damaged", nowNs: 61 * secondNs) == 0)
    }
}
