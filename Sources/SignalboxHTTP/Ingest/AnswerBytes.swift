internal import NIOCore
internal import NIOHTTP1
internal import SignalboxCore

/// Serializes an answer as HTTP/1: head and body in one buffer, for one write.
struct AnswerBytes {
    /// Whether the request is HTTP/1.0.
    let isOld: Bool
    /// Whether the request is a HEAD request.
    let isHead: Bool
    /// Whether the answer says `connection: close`.
    let saysClose: Bool
    /// Whether the body ends with the connection.
    var isEndless = false

    /// The interim answer to a client that waits for it before sending the body.
    static let goOn: StaticString = "HTTP/1.1 100 Continue\r\n\r\n"

    /// Appends the answer to the buffer.
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
        if !isEndless {
            buffer.writeStaticString("content-length: ")
            buffer.writeString(String(answer.body.count))
            buffer.writeStaticString("\r\n")
        }
        buffer.writeStaticString("\r\n")
        if !isHead { buffer.writeBytes(answer.body) }
    }

    /// RFC 9110, 6.4.1: answers with these statuses have no body.
    private static func mayHaveBody(_ status: Int) -> Bool {
        !(100..<200).contains(status) && status != 204 && status != 304
    }
}

/// Validates header fields from plugins.
enum HeaderRules {
    static func isValid(_ header: Attribute) -> Bool {
        !header.key.isEmpty && header.key.utf8.allSatisfy(isToken)
            && !header.value.utf8.contains { $0 == 0 || $0 == 10 || $0 == 13 }
    }

    /// Whether a field describes the message's length or the connection, which only the server may set.
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
