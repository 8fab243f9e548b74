internal import CNghttp2
internal import Glibc
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

    func body(of index: Int) -> UnsafeBufferPointer<UInt8> {
        let body = batch.requests[index].body
        return bytes.slice(body.start, body.count)
    }

    /// Writes the header block of a request. `:path`, credentials and the fields that the plugin marks as varying
    /// per request are never indexed: they would evict useful fields from the peer's table.
    func fields(
        of index: Int, authority: UnsafeBufferPointer<UInt8>, into fields: inout [nghttp2_nv]
    ) {
        let request = batch.requests[index]
        let inPlace = NGHTTP2_NV_FLAG_NO_COPY_NAME.rawValue | NGHTTP2_NV_FLAG_NO_COPY_VALUE.rawValue
        let plain = inPlace
        let unindexed = inPlace | NGHTTP2_NV_FLAG_NO_INDEX.rawValue
        fields.removeAll(keepingCapacity: true)
        fields.append(
            HTTP2Session.field(
                Names.method, bytes.slice(request.method.start, request.method.count),
                flags: plain))
        fields.append(HTTP2Session.field(Names.scheme, Names.https, flags: plain))
        fields.append(HTTP2Session.field(Names.authority, authority, flags: plain))
        fields.append(
            HTTP2Session.field(
                Names.path, bytes.slice(request.path.start, request.path.count), flags: unindexed))
        var unindexedHeaders = request.unindexedHeaders
        for position in request.headers {
            let isUnindexed = unindexedHeaders & 1 == 1
            unindexedHeaders >>= 1
            let header = batch.headers[Int(position)]
            let name = bytes.slice(header.name.start, header.name.count)
            fields.append(
                HTTP2Session.field(
                    name, bytes.slice(header.value.start, header.value.count),
                    flags: isUnindexed || Names.isAuthorization(name) ? unindexed : plain))
        }
    }

    /// Names of header fields, in memory that is never freed.
    enum Names {
        static nonisolated(unsafe) let method = HTTP2Session.bytes(":method")
        static nonisolated(unsafe) let scheme = HTTP2Session.bytes(":scheme")
        static nonisolated(unsafe) let https = HTTP2Session.bytes("https")
        static nonisolated(unsafe) let authority = HTTP2Session.bytes(":authority")
        static nonisolated(unsafe) let path = HTTP2Session.bytes(":path")
        static nonisolated(unsafe) let contentLength = HTTP2Session.bytes("content-length")
        private static nonisolated(unsafe) let authorization = HTTP2Session.bytes("authorization")
        private static nonisolated(unsafe) let status = HTTP2Session.bytes(":status")

        static func isStatus(_ name: UnsafeBufferPointer<UInt8>) -> Bool {
            name.count == status.count && isEqual(name, status)
        }

        static func isAuthorization(_ name: UnsafeBufferPointer<UInt8>) -> Bool {
            name.count == authorization.count && isEqual(name, authorization)
        }

        private static func isEqual(
            _ name: UnsafeBufferPointer<UInt8>, _ other: UnsafeBufferPointer<UInt8>
        ) -> Bool {
            guard let one = name.baseAddress, let two = other.baseAddress else { return false }
            return memcmp(one, two, name.count) == 0
        }
    }
}
