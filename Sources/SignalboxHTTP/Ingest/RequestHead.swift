internal import NIOHTTP1
internal import SignalboxCore

/// The head of a request, and what is wrong with it: RFC 9110 and 9112.
struct RequestHead {
    private(set) var request: HTTPServerRequest
    /// The length that its body is said to have.
    private(set) var announced = 0
    /// The client waits for 100 Continue.
    private(set) var isWaiting = false
    /// The error to answer with instead of reading it; nil if it is well-formed.
    private(set) var refusal: HTTPServerAnswer?
    /// Where the next request begins is unknown.
    private(set) var isEndless = false

    private var transferCoding: String?
    private var contentCoding = ""
    /// Bodies that are no longer than they say. What a sender encrypts (RFC 8188) is its receiver's to open.
    private static let plainCodings: Set = ["", "identity", "aes128gcm"]
    private var (credentials, hosts) = (0, 0)

    init(_ head: HTTPRequestHead) {
        let (target, authority) = Self.target(head.uri)
        let mark = target.firstIndex(of: "?")
        request = HTTPServerRequest(
            method: head.method.rawValue,
            path: mark.map { String(target[..<$0]) } ?? String(target),
            query: mark.map { String(target[target.index(after: $0)...]) } ?? "")
        request.headers.reserveCapacity(head.headers.count)
        for (name, value) in head.headers {
            let name = Self.isLower(name) ? name : name.lowercased()
            note(name, value)
            // RFC 9112, 3.2.2: the host of an absolute target overrides the field.
            request.headers.append(Attribute(name, name == "host" ? authority ?? value : value))
        }
        check(head)
    }

    /// The path with its query; of the absolute form, which clients use with proxies, the authority as well.
    private static func target(_ uri: String) -> (target: Substring, authority: String?) {
        // The usual form costs nothing.
        guard !uri.hasPrefix("/"), let mark = uri.firstRange(of: "://"),
            ["http", "https"].contains(uri[..<mark.lowerBound].lowercased())
        else { return (uri[...], nil) }
        let rest = uri[mark.upperBound...]
        let authority = rest.prefix { $0 != "/" && $0 != "?" }
        let target = rest[authority.endIndex...]
        return (target.hasPrefix("/") ? target : "/\(target)", String(authority))
    }

    private mutating func note(_ name: String, _ value: String) {
        switch name {
        // The parser has checked that it is a number; one that fits no Int is too large.
        case "content-length": announced = Self.length(value)
        // Some read a list as its first element, others as its last.
        case "host": hosts += value.utf8.contains(UInt8(ascii: ",")) ? 2 : 1
        case "transfer-encoding":
            transferCoding = (transferCoding.map { "\($0), " } ?? "") + value.lowercased()
        case "content-encoding": contentCoding = value.lowercased()
        case "authorization": credentials += 1
        case "expect": isWaiting = value.lowercased() == "100-continue"
        default: break
        }
    }

    private mutating func check(_ head: HTTPRequestHead) {
        if head.method == .CONNECT {
            isEndless = true
            refusal = Problem(501, "CONNECT is not supported: this server is not a proxy").answer
        } else if let coding = transferCoding, coding != "chunked" {
            // The parser ignores other codings before a final chunked, and with an upgrade
            // treats the request as one without a body. Proxies may disagree, so both are refused.
            isEndless = true
            let problem =
                coding.hasSuffix("chunked")
                ? Problem(501, "the only supported transfer-encoding is chunked")
                : Problem(400, "the last transfer-encoding must be chunked")
            refusal = problem.answer
        } else if hosts > 1 || hosts == 0 && head.version != .http1_0 {
            // RFC 9112, 3.2. What stands in front may have gone by the other one.
            refusal =
                Problem(
                    400, "the request has \(hosts == 0 ? "no" : "more than one") Host header"
                ).answer
        } else if credentials > 1 {
            // Whoever looks at the other one sees other rights.
            refusal = Problem(400, "the request has more than one Authorization header").answer
        } else if !Self.plainCodings.contains(contentCoding), announced > 0 || transferCoding != nil
        {
            refusal = Problem.codingNotSupported
        }
    }

    /// Spaces around the number are no part of it.
    private static func length(_ value: String) -> Int {
        let digits = value.utf8.filter { $0 != UInt8(ascii: " ") && $0 != UInt8(ascii: "\t") }
        return Int(String(decoding: digits, as: UTF8.self)) ?? .max
    }

    /// Most names are in lower case already.
    private static func isLower(_ name: String) -> Bool {
        name.utf8.allSatisfy { !(UInt8(ascii: "A")...UInt8(ascii: "Z")).contains($0) && $0 < 0x80 }
    }
}
