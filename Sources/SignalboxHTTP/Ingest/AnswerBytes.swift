internal import NIOCore
internal import NIOHTTP1
internal import SignalboxCore

/// An answer as HTTP/1 puts it onto the wire: head and body in one buffer, for one write.
struct AnswerBytes {
    /// The request came over HTTP/1.0.
    let isOld: Bool
    /// The request asks for the head alone.
    let isHead: Bool
    /// The connection ends behind it.
    let saysClose: Bool

    /// The interim answer to a client that waits before it sends the body.
    static let goOn: StaticString = "HTTP/1.1 100 Continue\r\n\r\n"

    /// Puts the answer behind what is in the buffer.
    func write(_ answer: HTTPServerAnswer, to buffer: inout ByteBuffer) {
        buffer.writeStaticString(isOld ? "HTTP/1.0 " : "HTTP/1.1 ")
        let status = HTTPResponseStatus(statusCode: answer.status)
        buffer.writeString(String(answer.status))
        buffer.writeStaticString(" ")
        buffer.writeString(status.reasonPhrase)
        buffer.writeStaticString("\r\n")
        for header in answer.headers
        where HeaderRules.isValid(header) && !HeaderRules.isOfFraming(header.key) {
            buffer.writeString(header.key)
            buffer.writeStaticString(": ")
            buffer.writeString(header.value)
            buffer.writeStaticString("\r\n")
        }
        if saysClose {
            buffer.writeStaticString("connection: close\r\n")
        } else if isOld {
            buffer.writeStaticString("connection: keep-alive\r\n")
        }
        guard Self.mayHaveBody(answer.status) else {
            buffer.writeStaticString("\r\n")
            return
        }
        buffer.writeStaticString("content-length: ")
        buffer.writeString(String(answer.body.count))
        buffer.writeStaticString("\r\n\r\n")
        if !isHead { buffer.writeBytes(answer.body) }
    }

    /// RFC 9110, 6.4.1: these end with their head.
    private static func mayHaveBody(_ status: Int) -> Bool {
        !(100..<200).contains(status) && status != 204 && status != 304
    }
}

/// What may stand in a header that a plugin has made.
enum HeaderRules {
    static func isValid(_ header: Attribute) -> Bool {
        !header.key.isEmpty && header.key.utf8.allSatisfy(isToken)
            && !header.value.utf8.contains { $0 == 0 || $0 == 10 || $0 == 13 }
    }

    /// Says where a message ends or what becomes of the connection, which only the listener knows.
    static func isOfFraming(_ name: String) -> Bool {
        switch name.lowercased() {
        case "content-length", "transfer-encoding", "connection", "keep-alive", "upgrade", "te",
            "trailer":
            true
        default: false
        }
    }

    /// RFC 9110, 5.6.2.
    private static func isToken(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
            UInt8(ascii: "a")...UInt8(ascii: "z"):
            true
        default: "!#$%&'*+-.^_`|~".utf8.contains(byte)
        }
    }
}
