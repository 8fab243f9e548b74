import Testing

@testable import SignalboxDispatch

@Suite struct RepeatedLinesTests {
    @Test func `what repeats is a line per interval, with a count and the last words`() {
        var lines = RepeatedLines<String, Int>(intervalMs: 100)
        #expect(lines.note("a", detail: 1, nowMs: 0)?.count == 1)
        #expect(lines.note("b", detail: 1, nowMs: 0)?.count == 1)
        for number in 2...7 { #expect(lines.note("a", detail: number, nowMs: 50) == nil) }
        #expect(lines.due(nowMs: 99).isEmpty)
        let due = lines.due(nowMs: 100)
        #expect(due.map(\.key) == ["a"] && due.map(\.count) == [6] && due.map(\.detail) == [7])
        // Nothing of it came up since: it is forgotten.
        #expect(!lines.has("b") && lines.has("a"))
        #expect(lines.note("a", detail: 8, nowMs: 199) == nil)
        #expect(lines.note("a", detail: 9, nowMs: 200)?.count == 2)
        #expect(lines.note("a", detail: 10, nowMs: 201) == nil)
        #expect(lines.flush().map(\.detail) == [10] && lines.count == 0)
    }
}
