import CSignalbox
import Testing

@testable import SignalboxPluginHost

/// Requests are copied in one go only if their bytes are contiguous.
@Suite struct RequestRunTests {
    /// A request at these places of a block: method, path, a header, a body in two parts.
    private func run(_ places: [Range<Int>]) -> String? {
        let memory = Array("POST/ka-bBODY.".utf8)
        return memory.withUnsafeBufferPointer { memory in
            func text(_ place: Range<Int>) -> sbx_str {
                let start = UnsafeRawPointer(memory.baseAddress).map { $0 + place.lowerBound }
                return sbx_str(
                    ptr: start?.assumingMemoryBound(to: CChar.self), len: place.count)
            }
            return withUnsafePointer(to: sbx_kv(key: text(places[2]), value: text(places[3]))) {
                header in
                [text(places[4]), text(places[5])].withUnsafeBufferPointer { body in
                    var raw = sbx_http_request()
                    raw.method = text(places[0])
                    raw.path = text(places[1])
                    raw.headers = header
                    raw.header_count = 1
                    raw.body = body.baseAddress
                    raw.body_segments = 2
                    return RequestRun.bytes(of: raw).map { String(decoding: $0, as: UTF8.self) }
                }
            }
        }
    }

    @Test func `parts one behind the other are one run`() {
        #expect(run([0..<4, 4..<5, 5..<7, 7..<9, 9..<11, 11..<13]) == "POST/ka-bBODY")
        #expect(run([0..<4, 4..<5, 5..<7, 7..<7, 7..<9, 9..<9]) == "POST/ka-b")
    }

    @Test(arguments: [
        // A gap, an overlap, both in balance, another order, bytes past the end.
        [0..<4, 4..<5, 5..<7, 8..<9, 9..<11, 11..<13],
        [0..<4, 4..<5, 5..<7, 6..<9, 9..<11, 11..<13],
        [0..<4, 4..<5, 4..<6, 7..<9, 9..<11, 11..<13],
        [0..<4, 4..<5, 7..<9, 5..<7, 9..<11, 11..<13],
        [0..<4, 4..<5, 5..<7, 7..<9, 11..<13, 9..<11],
    ])
    func `anything else is not`(places: [Range<Int>]) {
        #expect(run(places) == nil)
    }

    @Test func `names of headers are words in lower case`() {
        func isName(_ text: String) -> Bool {
            var text = text
            return text.withUTF8 { RequestRules.isHeaderName($0) }
        }
        let allowed = "abcdefghijklmnopqrstuvwxyz0123456789-_."
        for byte in UInt8.min...UInt8.max {
            let isAllowed = allowed.utf8.contains(byte)
            let isFound = [byte].withUnsafeBufferPointer { RequestRules.isHeaderName($0) }
            #expect(isFound == isAllowed, "byte \(byte)")
        }
        #expect(isName("apns-id") && !isName("apns-Id") && !isName("") && !isName("a b"))
    }
}
