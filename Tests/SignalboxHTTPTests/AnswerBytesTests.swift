import NIOCore
import SignalboxCore
import Testing

@testable import SignalboxHTTP

@Suite struct AnswerBytesTests {
    @Test func `an answer says itself where it ends`() {
        func text(_ answer: HTTPServerAnswer, isHead: Bool = false, isOld: Bool = false) -> String {
            var buffer = ByteBuffer()
            AnswerBytes(isOld: isOld, isHead: isHead, saysClose: false)
                .write(answer, to: &buffer)
            return String(buffer: buffer)
        }
        let headers = [
            Attribute("Content-Length", "7"), Attribute("transfer-encoding", "chunked"),
            Attribute("x-a", "b"), Attribute("bad name", "c"), Attribute("x-c", "d\r\nx-e: f"),
        ]
        #expect(
            text(HTTPServerAnswer(status: 200, headers: headers, body: [65]))
                == "HTTP/1.1 200 OK\r\nx-a: b\r\ncontent-length: 1\r\n\r\nA")
        #expect(
            text(HTTPServerAnswer(status: 200, body: [65]), isHead: true)
                == "HTTP/1.1 200 OK\r\ncontent-length: 1\r\n\r\n")
        #expect(
            text(HTTPServerAnswer(status: 204, body: [65])) == "HTTP/1.1 204 No Content\r\n\r\n")
        #expect(
            text(HTTPServerAnswer(status: 299), isOld: true)
                == "HTTP/1.0 299 \r\nconnection: keep-alive\r\ncontent-length: 0\r\n\r\n")
    }
}
