import SignalboxObservability
import Testing

@Suite struct TraceContextTests {
    private static let trace = "4bf92f3577b34da6a3ce929d0e0e4736"
    private static let span = "00f067aa0ba902b7"

    @Test func `a header is read and written`() throws {
        let text = "00-\(Self.trace)-\(Self.span)-01"
        let read = try #require(TraceContext(traceparent: text))
        #expect(read.isSampled && read.traceID == Self.trace && read.span == 0x00f0_67aa_0ba9_02b7)
        #expect(read.traceparent == text)
        let next = read.next()
        #expect(next.traceID == Self.trace && next.span != read.span && next.isSampled)
        let quiet = try #require(TraceContext(traceparent: "00-\(Self.trace)-\(Self.span)-00"))
        #expect(!quiet.isSampled && quiet.traceparent.hasSuffix("-00"))
        let root = TraceContext.root()
        #expect(TraceContext(traceparent: root.traceparent) == root)
    }

    @Test(arguments: [
        "01-\(trace)-\(span)-01-more", "cc-\(trace)-\(span)-01", "00-\(trace)-\(span)-03",
    ])
    func `later versions and flags are read`(text: String) throws {
        #expect(try #require(TraceContext(traceparent: text)).isSampled)
    }

    @Test(arguments: [
        "", "00", "ff-\(trace)-\(span)-01", "00-\(trace)-\(span)-01-more", "00-\(trace)-\(span)-0",
        "00-\(trace.uppercased())-\(span)-01", "00-00000000000000000000000000000000-\(span)-01",
        "00-\(trace)-0000000000000000-01", "00_\(trace)-\(span)-01", "01-\(trace)-\(span)-01more",
        "00-\(trace)-\(span)-g1", "0é-\(trace)-\(span)-0",
    ])
    func `a header that is not valid is ignored`(text: String) {
        #expect(TraceContext(traceparent: text) == nil)
    }
}
