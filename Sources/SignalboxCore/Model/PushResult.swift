/// What came of one request.
public struct PushResult: Sendable {
    /// An answer, or why there is none.
    public enum Answer: Sendable {
        /// The peer answered.
        case response(HTTPResponse)
        /// It did not.
        case fault(TransportFault)
    }
    /// The items of the request.
    public let items: [UInt64]
    /// What came of it.
    public let answer: Answer
    /// The request was reported as timed out before; this is the answer that came afterwards.
    public let isLate: Bool
    /// More about a fault, for people: the code of a reset. May be empty.
    public let detail: String

    /// Makes a result; other ways of sending do.
    public init(items: [UInt64], answer: Answer, isLate: Bool = false, detail: String = "") {
        self.items = items
        self.answer = answer
        self.isLate = isLate
        self.detail = detail
    }
}
