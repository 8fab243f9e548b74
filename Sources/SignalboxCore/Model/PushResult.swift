/// The result of one request.
public struct PushResult: Sendable {
    /// A response, or why it is missing.
    public enum Answer: Sendable {
        /// The peer answered.
        case response(HTTPResponse)
        /// The request failed.
        case fault(TransportFault)
    }
    /// The items of the request.
    public let items: [UInt64]
    /// The response or the failure.
    public let answer: Answer
    /// Whether the request was already reported as timed out, and this response came later.
    public let isLate: Bool
    /// Details of a fault for people, such as the code of a reset; may be empty.
    public let detail: String
    /// The origin that the request named; empty: the endpoint's own.
    public let origin: String

    /// A response.
    public init(_ response: HTTPResponse, isLate: Bool = false, origin: String = "") {
        items = response.items
        answer = .response(response)
        self.isLate = isLate
        detail = ""
        self.origin = origin
    }

    /// Why a response is missing.
    public init(
        items: [UInt64], fault: TransportFault, detail: String = "", origin: String = ""
    ) {
        self.items = items
        answer = .fault(fault)
        isLate = false
        self.detail = detail
        self.origin = origin
    }
}
