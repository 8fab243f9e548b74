import Testing

@testable import SignalboxHTTP

@Suite struct RequestDeadlinesTests {
    @Test func `entries of ended requests do not pile up behind one that is not answered`() {
        var deadlines = RequestDeadlines()
        var most = 0
        // Two places: one request is never answered, the others end one after the other.
        for number in 0..<10_000 as Range<UInt64> {
            let slot = number == 0 ? 0 : 1
            deadlines.add(.init(ns: number, slot: slot, generation: number), placeCount: 2) {
                $0.generation != 0 && $0.generation + 1 < number
            }
            most = max(most, deadlines.count)
        }
        #expect(most < 100)
        #expect(deadlines.first?.ns == 0, "the one that is not answered keeps its deadline")
        var last: UInt64?
        while let first = deadlines.first {
            #expect(last.map { $0 < first.ns } ?? true)
            last = first.ns
            deadlines.removeFirst()
        }
        #expect(last == 9_999)
    }
}
