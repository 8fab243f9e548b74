internal import CSignalbox

/// A request whose parts are adjacent in memory, as plugins usually build them.
enum RequestRun {
    /// All its bytes: method, path, each header's name and value, body. Nil if the parts are in another order or
    /// not adjacent, because bytes between them must not be read.
    static func bytes(of raw: sbx_http_request) -> UnsafeBufferPointer<UInt8>? {
        guard let start = raw.method.buffer.baseAddress else { return nil }
        var end = start + raw.method.buffer.count
        func follows(_ text: sbx_str) -> Bool {
            let part = text.buffer
            guard !part.isEmpty else { return true }
            guard part.baseAddress == end else { return false }
            end += part.count
            return true
        }
        guard follows(raw.path) else { return nil }
        for index in 0..<raw.header_count {
            guard let header = raw.headers?[index], follows(header.key), follows(header.value)
            else {
                return nil
            }
        }
        for index in 0..<raw.body_segments {
            guard let segment = raw.body?[index], follows(segment) else { return nil }
        }
        return UnsafeBufferPointer(start: start, count: end - start)
    }
}
