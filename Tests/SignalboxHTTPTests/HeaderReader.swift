import CNghttp2

@testable import SignalboxHTTP

/// A peer that reads header blocks with nghttp2.
final class HeaderReader {
    struct Field: Equatable {
        var name, value: String
        /// No table on the way keeps it.
        var isNeverKept = false
    }

    private let inflater: OpaquePointer

    init?() {
        var made: OpaquePointer?
        guard nghttp2_hd_inflate_new(&made) == 0, let made else { return nil }
        inflater = made
    }

    deinit { nghttp2_hd_inflate_del(inflater) }

    func limitTable(to size: Int) { nghttp2_hd_inflate_change_table_size(inflater, size) }

    /// The fields of a block; nil if it is malformed.
    func read(_ block: [UInt8]) -> [Field]? {
        var fields: [Field] = []
        var rest = block[...]
        while true {
            var field = nghttp2_nv()
            var flags: Int32 = 0
            let count = rest.withUnsafeBufferPointer {
                nghttp2_hd_inflate_hd2(inflater, &field, &flags, $0.baseAddress, $0.count, 1)
            }
            guard count >= 0 else { return nil }
            rest = rest.dropFirst(count)
            if flags & Int32(NGHTTP2_HD_INFLATE_EMIT.rawValue) != 0 {
                fields.append(
                    Field(
                        name: HTTP2Session.text(field.name, field.namelen),
                        value: HTTP2Session.text(field.value, field.valuelen),
                        isNeverKept: UInt32(field.flags) & NGHTTP2_NV_FLAG_NO_INDEX.rawValue != 0))
            }
            guard flags & Int32(NGHTTP2_HD_INFLATE_FINAL.rawValue) == 0 else { break }
        }
        nghttp2_hd_inflate_end_headers(inflater)
        return rest.isEmpty ? fields : nil
    }
}
