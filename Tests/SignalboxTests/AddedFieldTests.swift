import SignalboxCore
import Testing

@testable import SignalboxGateway

/// Requests that tracing marks.
@Suite struct AddedFieldTests {
    @Test func `a request with one more field keeps everything else`() throws {
        var batch = RequestBatch()
        let post = batch.append(bytes: "POST".utf8)
        let path = batch.append(bytes: "/p".utf8)
        let origin = batch.append(bytes: "https://push.example".utf8)
        let context = batch.append(bytes: "ctx".utf8)
        batch.append(header: .init(name: path, value: post))
        batch.append(item: 7)
        batch.appendRequest(
            method: post, path: path, body: context, unindexedHeaders: 1, origin: origin,
            context: context, shortened: ShortenedTexts(rawValue: 1))
        batch.append(item: 8)
        batch.appendRequest(method: post, path: path, body: context)
        let marked = batch.adding("traceparent", ["00-a", nil])
        let (first, second) = (marked.requests[0], marked.requests[1])
        #expect(marked.text(first.origin) == "https://push.example")
        #expect(marked.text(first.context) == "ctx")
        #expect(first.shortened.rawValue == 1 && first.unindexedHeaders == 0b11)
        #expect(
            first.headers.map { marked.text(marked.headers[Int($0)].value) } == ["POST", "00-a"])
        #expect(second.headers.isEmpty && second.origin.count == 0)
        #expect(marked.items == [7, 8] && second.items == 1..<2)
    }
}
