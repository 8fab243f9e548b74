import Testing

@testable import SignalboxAdmin

/// What `GET /trace` may ask.
@Suite struct TraceQueryTests {
    @Test(arguments: [
        ("", "give one of event, user, subject, device and source_id"),
        ("user=a&subject=b", "give one of event, user, subject, device and source_id"),
        ("event=x", "event must be a number"), ("user=a&sinc=1", "unknown key \"sinc\""),
        ("user=a&since=x", "since must be a number"),
        ("user", "\"user\" is not KEY=VALUE, percent-encoded"),
        ("user=", "user has no value: give it one, or leave it out"),
    ])
    func `a query with a mistake is refused with the reason`(
        query: String, words: String
    ) async throws {
        #expect {
            _ = try TraceQuery(query: query)
        } throws: {
            "\($0)" == words
        }
    }
}
