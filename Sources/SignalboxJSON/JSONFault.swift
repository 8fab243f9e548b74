/// Why text is not JSON; a fixed message that quotes nothing of the text.
public struct JSONFault: Error, Sendable, Hashable, CustomStringConvertible {
    /// `a string is not closed`.
    public let message: String

    /// Makes a fault.
    public init(message: String) { self.message = message }

    /// The message.
    public var description: String { message }
}
