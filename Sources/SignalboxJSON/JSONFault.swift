/// Why text is not JSON; fixed words that hold nothing of the text.
public struct JSONFault: Error, Sendable, Hashable, CustomStringConvertible {
    /// `a string is not closed`.
    public let message: String

    /// The message.
    public var description: String { message }
}
