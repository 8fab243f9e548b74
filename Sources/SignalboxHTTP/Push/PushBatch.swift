internal import SignalboxCore

/// The requests of one submission, at addresses that stay valid until the last is answered, so that nghttp2
/// reads names, values and bodies in place.
final class PushBatch {
    private let batch: RequestBatch
    private let bytes: PinnedBytes
    let client: PoolClient
    let submittedNs: UInt64

    init(_ batch: RequestBatch, _ client: PoolClient, submittedNs: UInt64) {
        self.batch = batch
        self.client = client
        bytes = PinnedBytes(batch.bytes)
        self.submittedNs = submittedNs
    }

    func items(of index: Int) -> [UInt64] {
        let range = batch.requests[index].items
        return Array(batch.items[Int(range.lowerBound)..<Int(range.upperBound)])
    }

    func context(of index: Int) -> [UInt8] { Array(batch[batch.requests[index].context]) }

    func shortened(of index: Int) -> ShortenedTexts { batch.requests[index].shortened }

    func method(of index: Int) -> UnsafeBufferPointer<UInt8> {
        let method = batch.requests[index].method
        return bytes.slice(method.start, method.count)
    }

    func body(of index: Int) -> UnsafeBufferPointer<UInt8> {
        let body = batch.requests[index].body
        return bytes.slice(body.start, body.count)
    }

    /// Writes the fields of a request. `:path`, credentials and the fields that the plugin marks as varying per request
    /// are kept in no table: they would evict useful fields from the peer's.
    func write(
        fieldsOf index: Int, authority: UnsafeBufferPointer<UInt8>, to encoder: inout HeaderEncoder
    ) {
        let request = batch.requests[index]
        encoder.method(method(of: index))
        encoder.https()
        encoder.common(.authority, Names.authority, authority)
        encoder.varying(.path, bytes.slice(request.path.start, request.path.count))
        var unindexedHeaders = request.unindexedHeaders
        for position in request.headers {
            let isUnindexed = unindexedHeaders & 1 == 1
            unindexedHeaders >>= 1
            let header = batch.headers[Int(position)]
            let name = bytes.slice(header.name.start, header.name.count)
            let value = bytes.slice(header.value.start, header.value.count)
            if Names.isAuthorization(name) {
                encoder.varying(.authorization, value)
            } else if isUnindexed {
                encoder.varying(name, value)
            } else {
                encoder.common(.none, name, value)
            }
        }
        encoder.contentLength(Int(request.body.count))
    }

    /// Names of header fields, in memory that is never freed.
    enum Names {
        static nonisolated(unsafe) let method = HTTP2Session.bytes(":method")
        static nonisolated(unsafe) let authority = HTTP2Session.bytes(":authority")
        private static nonisolated(unsafe) let authorization = HTTP2Session.bytes("authorization")
        private static nonisolated(unsafe) let status = HTTP2Session.bytes(":status")

        static func isStatus(_ name: UnsafeBufferPointer<UInt8>) -> Bool {
            name.hasSameBytes(as: status)
        }

        static func isAuthorization(_ name: UnsafeBufferPointer<UInt8>) -> Bool {
            name.hasSameBytes(as: authorization)
        }
    }
}
