/// The result of an attempt, for the record.
public struct Attempt: Sendable, Hashable {
    /// 1, 2, ...
    public var number: UInt32
    /// When the outcome became known, in Unix milliseconds.
    public var unixMs: UInt64
    /// From a closed list.
    public var reason: String
    /// HTTP status or the provider's own code; 0 if there was no answer.
    public var code: UInt32
    /// Details for people; holds no token, secret or body.
    public var detail: String
    /// The owner that made the attempt; empty if the store serves one gateway. The store sets it.
    public var owner = ""

    /// Makes an attempt.
    public init(number: UInt32, unixMs: UInt64, reason: String, code: UInt32, detail: String) {
        self.number = number
        self.unixMs = unixMs
        self.reason = reason
        self.code = code
        self.detail = detail
    }
}
