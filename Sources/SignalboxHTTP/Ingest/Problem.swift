internal import SignalboxCore

/// An error answer, as an RFC 9457 problem document.
public struct Problem: Error, Sendable, Hashable, CustomStringConvertible {
    /// 400, 404, ...
    public var status: Int
    /// Names the error and the fix; holds nothing of the request's body.
    public var detail: String
    /// The faults, if there are several.
    public var faults: [String]

    /// Makes a problem.
    public init(_ status: Int, _ detail: String, faults: [String] = []) {
        self.status = status
        self.detail = detail
        self.faults = faults
    }

    /// The detail.
    public var description: String { detail }

    /// The answer with this problem as its body.
    public var answer: HTTPServerAnswer {
        let list = JSONValue.array(faults.map { .string($0) })
        let body = JSONValue.object(
            [
                .init("type", .string("about:blank")), .init("title", .string(Self.title(status))),
                .init("status", .integer(Int64(status))), .init("detail", .string(detail)),
            ] + (faults.isEmpty ? [] : [.init("faults", list)]))
        return HTTPServerAnswer(
            status: status, headers: [Attribute("content-type", "application/problem+json")],
            body: Array(body.text.utf8))
    }

    private static func title(_ status: Int) -> String {
        switch status {
        case 400: "Bad Request"
        case 401: "Unauthorized"
        case 403: "Forbidden"
        case 404: "Not Found"
        case 405: "Method Not Allowed"
        case 408: "Request Timeout"
        case 413: "Content Too Large"
        case 415: "Unsupported Media Type"
        case 421: "Misdirected Request"
        case 422: "Unprocessable Content"
        case 429: "Too Many Requests"
        case 431: "Request Header Fields Too Large"
        case 500: "Internal Server Error"
        case 501: "Not Implemented"
        case 503: "Service Unavailable"
        default: "Error"
        }
    }
}

extension Problem {
    /// 405, with the methods that the path allows.
    public static func methodNotAllowed(_ allowed: [String]) -> HTTPServerAnswer {
        let names = allowed.joined(separator: ", ")
        var answer = Problem(405, "this path takes \(names)").answer
        answer.headers.append(Attribute("allow", names))
        return answer
    }

    /// 415 for a body that is compressed, as RFC 9110, 15.5.16 says.
    static var codingNotSupported: HTTPServerAnswer {
        var answer = Problem(415, "send the body without a content-encoding").answer
        answer.headers.append(Attribute("accept-encoding", "identity"))
        return answer
    }

    /// 429, with the seconds after which to try again.
    public static func tooMany(_ detail: String, retryAfterSeconds: Int) -> HTTPServerAnswer {
        var answer = Problem(429, detail).answer
        answer.headers.append(Attribute("retry-after", "\(retryAfterSeconds)"))
        return answer
    }

    /// 503, with `retry-after: 1`.
    public static func busy(_ detail: String) -> HTTPServerAnswer {
        var answer = Problem(503, detail).answer
        answer.headers.append(Attribute("retry-after", "1"))
        return answer
    }
}
