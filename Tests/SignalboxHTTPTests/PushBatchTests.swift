import SignalboxCore
import Testing

@testable import SignalboxHTTP

/// Which header fields a peer may keep in its HPACK table.
@Suite struct PushBatchTests {
    private func batch(_ headers: [String], unindexed: UInt64) -> PushBatch {
        var batch = RequestBatch()
        let word = batch.append(bytes: Array("/".utf8))
        for name in headers {
            batch.append(header: .init(name: batch.append(bytes: Array(name.utf8)), value: word))
        }
        batch.append(item: 1)
        batch.appendRequest(method: word, path: word, body: word, unindexedHeaders: unindexed)
        let client = PoolClient(onResults: { _ in }, onAnswer: { _ in }, maySend: { true })
        return PushBatch(batch, client, submittedNs: 0)
    }

    /// Names of the fields that no table keeps.
    private func unindexed(_ headers: [String], _ mask: UInt64) -> [String]? {
        let batch = batch(headers, unindexed: mask)
        var encoder = HeaderEncoder()
        encoder.begin()
        batch.write(fieldsOf: 0, authority: HTTP2Session.bytes("h:443"), to: &encoder)
        return HeaderReader()?.read(encoder.block)?.filter(\.isNeverKept).map(\.name)
            .filter { $0 != "content-length" }
    }

    @Test func `headers that differ from request to request are kept out of the table`() {
        #expect(unindexed(["topic", "id", "kind", "until"], 0b1010) == [":path", "id", "until"])
        #expect(unindexed(["topic", "id"], 0) == [":path"])
    }

    @Test func `credentials are kept out of it, whatever the plugin says`() {
        #expect(unindexed(["authorization", "topic"], 0) == [":path", "authorization"])
    }

    @Test func `no header of a provider is known to the engine`() {
        #expect(unindexed(["apns-id", "apns-expiration", "apns-collapse-id"], 0) == [":path"])
    }

    @Test func `a mask tells of the first 64 headers`() {
        let names = (0..<70).map { "h\($0)" }
        #expect(unindexed(names, .max) == [":path"] + names[..<64])
    }
}
